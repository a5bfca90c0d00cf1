"""Makes tables of ratings from labels that were read from files: of all items, and of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from viva.errors import SetupError
from viva.judge.calibration.label_files import HumanLabel
from viva.judge.calibration.label_tables import GivenLabel
from viva.records.text import one_line
from viva.statistics.agreement.published import NAMES, Claim
from viva.statistics.agreement.ratings import Ratings, in_order, number_in, ratings_of

_BY_LABEL = ("precision", "recall")


def from_label_files(labels: Sequence[HumanLabel]) -> list[GivenLabel]:
    """Return what people said about scoring points, an item being a scoring point of a run.

    The items of a case go together, also those of its several runs; without a case, those of a run.
    """
    return [
        GivenLabel(f"{each.run}\n{each.conversation}\n{each.criterion}", each.rater, each.label, each.case or each.run)
        for each in labels
        if each.label is not None
    ]


def ratings_by_kind(labels: Sequence[GivenLabel], raters: Sequence[str] = ()) -> dict[str, Ratings]:
    """Return the table of all labels, under the empty text, then that of each kind.

    Args:
        labels: The labels.
        raters: The raters in order; others follow.
    """
    kinds = in_order({each.kind for each in labels if each.kind})
    return {
        kind: _ratings([each for each in labels if kind in ("", each.kind)], raters)
        for kind in ("", *(kinds if len(kinds) > 1 else ()))
    }


def _ratings(labels: Sequence[GivenLabel], raters: Sequence[str]) -> Ratings:
    names = {id(each): f"{each.item}\n{each.kind}" for each in labels}
    clusters = {names[id(each)]: each.case for each in labels if each.case}
    return ratings_of(((names[id(each)], each.rater, each.label) for each in labels), clusters, raters)


def order_of(ratings: Ratings, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the labels from the lowest to the highest.

    Args:
        ratings: The labels.
        asked: The order that the user gave; empty if numbers are to be ordered by size.

    Raises:
        SetupError: a label has no place in the order.
    """
    if not asked and any(number_in(label) is None for label in ratings.labels):
        shown = ", ".join(one_line(label, 20) for label in ratings.labels[:6])
        raise SetupError(f"--ordinal: the labels are not numbers ({shown}); give their order with --order LOW,…,HIGH.")
    if missing := [label for label in ratings.labels if label not in asked] if asked else []:
        shown = ", ".join(one_line(label, 20) for label in missing[:6])
        raise SetupError(f"--order: these labels have no place in the order: {shown}.")
    return tuple(asked) or ratings.labels


def check_rater(ratings: Ratings, flag: str, name: str) -> None:
    """Raise SetupError if there is no rater of this name."""
    if name not in ratings.raters:
        near = get_close_matches(name, ratings.raters, 1, 0.5)
        known = ", ".join(one_line(each, 40) for each in ratings.raters[:12])
        meant = f"Did you mean {one_line(near[0], 60)!r}?" if near else f"The raters are {known}."
        raise SetupError(f"{flag}: there is no rater {one_line(name, 60)!r}. {meant}")


def claim_from(text: str, ratings: Ratings, gold: str) -> Claim:
    """Return a published figure from its words: `kappa=.268`, `kappa:ann,bob=.8`, `recall/hit=.9`.

    Args:
        text: NAME[/LABEL][:FIRST,SECOND]=VALUE.
        ratings: The labels.
        gold: The rater whose labels are true; empty if there is none.

    Raises:
        SetupError: it is none, or it does not say of which raters.
    """
    what, _, value = text.rpartition("=")
    what, _, both = what.partition(":")
    name, _, label = what.strip().partition("/")
    number = number_in(value.strip())
    if name not in NAMES or number is None:
        raise SetupError(
            f"--published {one_line(text, 80)!r}: write NAME=VALUE, such as kappa=.268, with one of the names "
            f"{', '.join(NAMES)}; kappa:ann,bob=.8 names the raters, and recall/hit=.9 the label."
        )
    if (name in _BY_LABEL) is not (label in ratings.labels) or (label and name not in _BY_LABEL):
        shown = ", ".join(one_line(each, 20) for each in ratings.labels[:12])
        raise SetupError(
            f"--published {one_line(text, 80)!r}: precision and recall are of one label ({name}/LABEL: {shown})."
        )
    first, second = _raters_of(text, both, ratings, gold)
    digits = value.strip().partition(".")[2].partition("e")[0]
    return Claim(name, first, second, number, len(digits), label)


def _raters_of(text: str, both: str, ratings: Ratings, gold: str) -> tuple[str, str]:
    named = [name.strip() for name in both.split(",")] if both else []
    if not named:
        named = [gold, *(rater for rater in ratings.raters if rater != gold)] if gold else list(ratings.raters)
    if len(named) != 2:
        raise SetupError(
            f"--published {one_line(text, 80)!r}: there are several raters; say of which two: kappa:FIRST,SECOND=VALUE."
        )
    for name in named:
        check_rater(ratings, "--published", name)
    return named[0], named[1]
