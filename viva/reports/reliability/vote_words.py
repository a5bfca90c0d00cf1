"""Says in words what the votes of judges were worth and what they bought, for every report."""

from __future__ import annotations

from collections.abc import Iterator

from viva.records.text import one_line
from viva.records.wording import UNKNOWN, counted, dollars
from viva.statistics.summary import Figures
from viva.statistics.votes import VoteFigures

MOST_MODELS = 6


def vote_lines(figures: Figures) -> Iterator[str]:
    """Yield two lines about the votes on scoring points; nothing if there were none."""
    votes = figures.votes
    if votes is None:
        return
    names = [one_line(name, 40) for name in votes.models]
    more = f" and {len(names) - MOST_MODELS} more" if len(names) > MOST_MODELS else ""
    said = [f"{votes.cast:,} of {counted(votes.planned, 'vote')} cast on {counted(votes.points, 'point')}"]
    if votes.failed:
        said.append(f"{votes.failed:,} failed")
    said += _rates(votes)
    yield f"{', '.join(names[:MOST_MODELS])}{more}: {', '.join(said)}"
    calls = f"{counted(votes.calls, 'call')}, {'cost unknown' if votes.cost is None else dollars(votes.cost)}"
    bought = (
        f"{counted(votes.changed, 'verdict')} differ from the first vote"
        if votes.changed != 1
        else ("1 verdict differs from the first vote")
    )
    yield f"{bought}, {votes.split:,} split; for {calls}"


def _rates(votes: VoteFigures) -> Iterator[str]:
    if votes.flip_rate is not None:
        yield f"flip rate {votes.flip_rate:.1%}"
    if votes.agreement is not None:
        yield f"agreement {votes.agreement:.1%}"
    if votes.correlation is not None and votes.correlation <= 0:
        # They may contradict each other, or nearly all be the same: neither shows that they are worth much.
        words = "votes on one point agree no more than votes on different points"
        yield f"effective votes unknown (of {votes.heads:g}): {words}"
    else:
        worth = UNKNOWN if votes.n_eff is None else f"{votes.n_eff:.1f}"
        yield f"effective votes {worth} of {votes.heads:g}"
