"""What `viva trace` says of recordings that were imported and not scored, because nothing says what is good."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from viva.judge.reward import RewardEvaluator
from viva.records.text import printable
from viva.records.wording import counted
from viva.statistics.scores import UNSCORED
from viva.statistics.summary import Figures
from viva.suites.request import RecordingsRequest


def imported_only(figures: Figures, request: RecordingsRequest, *, gated: bool) -> bool:
    """Return whether the recordings were imported and nobody asked for a score: that they have none is no failure.

    Args:
        figures: The statistics of the journal.
        request: What was asked for.
        gated: Whether there are gates, which require scores.
    """
    asked = gated or request.options.evaluators or request.rubric is not None
    names = {each.name for each in figures.evaluators}
    unscored = figures.suite.runs_all > 0 and set(figures.suite.excluded) == {UNSCORED} and not figures.suite.runs
    return unscored and not asked and names <= {RewardEvaluator.name}


def next_steps(figures: Figures, folder: Path) -> str:
    """Return what can be done with recordings that have no reward."""
    judge = f"viva judge {printable(quote(str(folder)))}"
    return (
        f"{counted(figures.suite.runs_all, 'conversation')} imported. No recording has a reward, so nothing was "
        "scored.\n"
        "Score them by statements that should be true (viva docs recordings):\n"
        f"  {judge} --rubric FILE\n"
        "by how the agent called its tools:\n"
        f"  {judge} --evaluators loops,repeated_calls,tool_success\n"
        "or by an evaluator of your own (viva docs extend):\n"
        f"  {judge} --evaluators file.py:function"
    )
