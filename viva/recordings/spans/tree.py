"""Puts the spans of one trace into the order and the tree that their ids describe, even if these are damaged."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from viva.recordings.spans.span import Span, SpanKind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tree:
    """The spans of one trace, each once."""

    spans: tuple[Span, ...]
    """The spans, by start time; a parent comes before what begins at the same time within it."""
    parents: dict[str, Span]
    """Id of a span to its parent, where the trace holds it and the parents form no circle."""
    damage: Mapping[str, int]
    """What is broken, in words, and how often."""
    lost: int = 0
    """How many spans were left out that say something which the span with their id that was kept does not say."""
    places: dict[str, int] = field(default_factory=dict)
    """Id of a span to its place in `spans`."""
    _nearest: dict[tuple[SpanKind, ...], dict[str, Span | None]] = field(default_factory=dict, repr=False)
    _extents: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)
    _parents_first: list[Span] = field(default_factory=list, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is broken, a sentence for each fault."""
        return tuple(f"{words}: {count}" for words, count in self.damage.items())

    def ancestors(self, span: Span) -> Iterator[Span]:
        """Yield the parent, its parent and so on."""
        parent = self.parents.get(span.id)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent.id)

    def inherited(self, step: Callable[[Span, T | None], T | None]) -> dict[str, T | None]:
        """Return what each span has from the spans above it, in time that grows with the spans, however deep they are.

        Args:
            step: Given a parent and what it has itself, returns what its children have. A span at the top has None.
        """
        found: dict[str, T | None] = {}
        for span in self._with_parents_first():
            parent = self.parents.get(span.id)
            found[span.id] = None if parent is None else step(parent, found[parent.id])
        return found

    def nearest(self, *kinds: SpanKind) -> dict[str, Span | None]:
        """Return the id of each span with the nearest span of these kinds above it."""
        if kinds not in self._nearest:
            self._nearest[kinds] = self.inherited(lambda parent, above: parent if parent.kind in kinds else above)
        return self._nearest[kinds]

    def extents(self) -> dict[str, tuple[int, int]]:
        """Return the id of each span with two numbers; those of the spans below it lie between them."""
        if not self._extents:
            children: dict[str, list[Span]] = {}
            for span in self.spans:
                if (parent := self.parents.get(span.id)) is not None:
                    children.setdefault(parent.id, []).append(span)
            begins: dict[str, int] = {}
            waiting = [(span, True) for span in self.spans if span.id not in self.parents]
            number = 0
            while waiting:
                number += 1
                span, before = waiting.pop()
                if before:
                    begins[span.id] = number
                    waiting.append((span, False))
                    waiting += [(child, True) for child in children.get(span.id, ())]
                else:
                    self._extents[span.id] = begins[span.id], number
        return self._extents

    def _with_parents_first(self) -> list[Span]:
        """Order spans so that a parent comes before its children, regardless of the clocks."""
        if not self._parents_first:
            done: set[str] = set()
            for span in self.spans:
                path: list[Span] = []
                above: Span | None = span
                while above is not None and above.id not in done:
                    path.append(above)
                    done.add(above.id)
                    above = self.parents.get(above.id)
                self._parents_first.extend(reversed(path))
        return self._parents_first


class Outermost:
    """Extents of spans (see `Tree.extents`), none of which lies within another one."""

    def __init__(self) -> None:
        """Begin without extents."""
        self._begins: list[int] = []
        self._ends: list[int] = []

    def holds(self, extent: tuple[int, int]) -> bool:
        """Return whether an extent lies within one of these."""
        place = bisect(self._begins, extent[0])
        return place > 0 and extent[1] <= self._ends[place - 1]

    def add(self, extent: tuple[int, int]) -> None:
        """Add an extent, unless it lies within one of these, in place of those that lie within it."""
        if self.holds(extent):
            return
        begin, end = extent
        place, last = bisect(self._begins, begin), bisect(self._begins, end)
        self._begins[place:last], self._ends[place:last] = [begin], [end]


def tree_of(spans: Iterable[Span]) -> Tree:
    """Make the tree of a trace.

    A span that was written twice counts once: the one that has ended, else the later one. Nothing is lost if that one
    says all that the other one says: a span that has not ended is often exported with less. A span whose parent is
    missing stands at the top, as does the earliest span of a circle of parents.
    """
    by_id: dict[str, Span] = {}
    left_out: list[Span] = []
    for span in spans:
        known = by_id.get(span.id)
        if known is None or span.end_ns is not None or known.end_ns is None:
            by_id[span.id] = span
            left_out += [known] if known is not None else []
        else:
            left_out.append(span)
    lost = sum(not by_id[span.id].says_all_of(span) for span in left_out)
    children: dict[str, list[Span]] = {}
    tops, orphans = [], 0
    for span in sorted(by_id.values(), key=lambda span: span.order):
        if span.parent_id in by_id:
            children.setdefault(str(span.parent_id), []).append(span)
        else:
            orphans += span.parent_id is not None
            tops.append(span)
    parents: dict[str, Span] = {}
    walked = _walk(tops, children, parents)
    circled = 0
    for span in sorted(by_id.values(), key=lambda span: span.order):
        if span.id not in walked:
            circled += 1
            walked |= _walk([span], children, parents, walked)
    ordered = sorted(by_id.values(), key=lambda span: (*span.order[:2], walked[span.id]))
    damage = _damage(len(left_out), orphans, circled, sum(span.start_ns is None for span in ordered))
    return Tree(tuple(ordered), parents, damage, lost, {span.id: place for place, span in enumerate(ordered)})


def _walk(
    tops: list[Span], children: dict[str, list[Span]], parents: dict[str, Span], done: dict[str, int] | None = None
) -> dict[str, int]:
    """Number the spans below some in the order of a reader; without recursion, traces may nest as they like."""
    known = done or {}
    walked: dict[str, int] = {}
    waiting = list(reversed(tops))
    while waiting:
        span = waiting.pop()
        if span.id in walked or span.id in known:
            continue
        walked[span.id] = len(known) + len(walked)
        for child in reversed(children.get(span.id, ())):
            if child.id not in walked and child.id not in known:
                parents[child.id] = span
                waiting.append(child)
    return walked


def _damage(doubled: int, orphans: int, circled: int, timeless: int) -> dict[str, int]:
    said = (
        (doubled, "spans that were recorded more than once, counted once"),
        (orphans, "spans whose parent is not in the trace"),
        (circled, "cycles of spans that are each other's parents"),
        (timeless, "spans without a start time, put last"),
    )
    return {words: count for count, words in said if count}
