"""The gate on corrected scores: `--fail-under SCORE --corrected`."""

from __future__ import annotations

from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.records.wording import beyond, limit_words
from viva.statistics.corrected.figures import failed_words
from viva.statistics.scores import passes
from viva.statistics.summary import Figures


def gate_on_corrected(figures: Figures, floor: float) -> tuple[int, str]:
    """Return the exit code, and the reason in words (empty for 0).

    The low end of each agent's interval must reach the floor; what cannot be corrected does not pass.

    Args:
        figures: The statistics, with labels by people.
        floor: The minimum, in [0, 1].
    """
    below, missing = [], []
    for each in figures.corrected:
        whose = f" of {one_line(each.agent, 80)}" if len(figures.corrected) > 1 else ""
        if each.low is None:
            missing.append(f"no corrected score{whose}: {each.refused}")
        elif not passes(each.low, floor):
            below.append(
                f"the corrected mean score{whose} (low end of its interval) is {beyond(each.low, floor)}, "
                f"below {limit_words(floor)}{failed_words(each)}"
            )
    if below:
        return EXIT_BELOW, "; ".join((*below, *missing))
    if missing or not figures.corrected:
        return EXIT_NOT_SCORED, "; ".join(missing) or "no corrected score: nothing was scored"
    return EXIT_DONE, ""
