"""Says in words which verdicts flipped between two judgings, and whether noise explains them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from viva.records.text import one_line
from viva.records.wording import counted, point_name
from viva.statistics.flips.drift import LEVEL, TOLERATED, Drift, Flip

MOST_FLIPS = 30
MOST_KINDS = 6


def drift_lines(drift: Drift) -> Iterator[str]:
    """Yield the conclusion, then the flips, then what differs in how both sides were judged."""
    if drift.others:
        yield f"{counted(drift.others, 'run')} not compared: the conversations of the two sides are not the same"
    if not drift.points:
        yield "no point has a verdict in both judgings"
        return
    yield _summary(drift)
    yield f"  {'the judge has drifted' if drift.drifted else 'no drift: noise explains this'} ({_rule(drift)})"
    yield f"    {_number(drift)}"
    yield f"    {_direction(drift)}"
    if drift.lost or drift.gained:
        yield f"  {counted(drift.lost, 'point')} lost the verdict, {drift.gained} gained one: not compared"
    for flip in drift.flips[:MOST_FLIPS]:
        yield f"  {flip_words(flip)}"
    if (more := len(drift.flips) - MOST_FLIPS) > 0:
        yield f"  {more} more: --json"
    for note in drift.notes:
        yield f"  note: {one_line(note, 500)}"


def flip_words(flip: Flip) -> str:
    """Return one flip in words: `sums-1a2b3c4d total: hit -> miss`."""
    where = f" {one_line(flip.subject, 60)}" if flip.subject else ""
    by = " (by a rule, not tested)" if flip.by_rule else "" if flip.by_model else " (by code)"
    change = f"{one_line(flip.before, 20)} -> {one_line(flip.after, 20)}"
    return f"{one_line(flip.run, 100)}{where} {point_name(flip.criterion, flip.statement)}: {change}{by}"


def _summary(drift: Drift) -> str:
    flips = drift.flips
    words = f"{len(flips)} of {counted(drift.points, 'verdict')} flipped ({len(flips) / drift.points:.1%})"
    kinds = Counter(f"{one_line(flip.before, 20)} -> {one_line(flip.after, 20)}" for flip in flips)
    shown = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common(MOST_KINDS))
    return f"{words}: {shown}" if shown else words


def _rule(drift: Drift) -> str:
    return f"drift is p <= {LEVEL / 2:g}{'' if drift.all_before else ' in either test'}"


def _number(drift: Drift) -> str:
    expected = f"{TOLERATED:.0%} expected by chance"
    if drift.repeats:
        expected += f", and {drift.repeats_flipped} of {drift.repeats} between two votes of one judge"
    who = "that were judged" if drift.tested == drift.points - drift.ruled else "by a model"
    of = "" if drift.tested == drift.points else f" ({drift.flipped} of {drift.tested} {who})"
    return f"number of flips{of} against {expected}: p = {drift.noise_p:.2g}"


def _direction(drift: Drift) -> str:
    words = f"direction of flips ({drift.better} better, {drift.worse} worse)"
    if drift.all_before:
        every = {"hit": "hits, which can only become worse", "miss": "misses, which can only become better"}
        return f"{words}: cannot be tested, because all verdicts were {every[drift.all_before]}"
    return f"{words}: p = {drift.direction_p:.2g}"
