"""Groups misses by what went wrong, across cases, agents and the wordings of judges, without a model.

Misses that are the same up to values and names are one template. Templates are vectors of weighted word stems; those
that are nearly the same are joined at once, the others by average linkage (Sokal and Michener 1958) as long as their
mean cosine similarity exceeds `LEAST_ALIKE`. Nothing is drawn at random, and the order of the runs decides only between
equals.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from viva.statistics.causes.miss_words import MOST_TEXT, miss_words

ALIKE = 0.75
"""Cosine similarity from which templates are joined at once."""
LEAST_ALIKE = 0.12
"""Minimum mean cosine similarity of two clusters that are joined."""
STATEMENT = 0.35
"""Weight of a word of the statement, beside those of the reason: one cause is found under many statements."""
FEWEST_WORDS = 3
"""With fewer words in the reason, the statement counts in full: `assert 3 == 4` says nothing of the cause."""
FEWEST_SHARED = 2
"""Templates of different statements that share one word alone are not alike, however few words they have."""
CORE = 3
"""Number of stems that make the id of a cluster."""
MOST_TEMPLATES = 3_000
"""Distinct templates that are kept; what others say is counted as left out."""
MOST_LINKED = 400
"""Groups of templates that take part in average linkage, those of most runs."""

Words = tuple[frozenset[str], frozenset[str]]
"""The stems of a reason and of a statement."""


def words_of(reason: str, statement: str) -> Words:
    """Return what tells the cause of a miss."""
    words = miss_words(statement[:MOST_TEXT])
    # A statement of values only, such as "x = 3", is told from others by its text.
    return miss_words(reason[:MOST_TEXT]), words or frozenset({statement[:MOST_TEXT].lower()})


def cluster_ids(clusters: Sequence[Sequence[Words]], labels: Sequence[str]) -> list[str]:
    """Return an id for each cluster, made from its core: the stems of most of its templates.

    How many runs have which wording changes no id.

    Args:
        clusters: The templates of each cluster.
        labels: The label of each cluster.
    """
    taken: set[str] = set()
    found = []
    for templates, label in zip(clusters, labels, strict=True):
        ranked = _core(templates)
        for size in (CORE, len(ranked), len(ranked) + 1):
            text = " ".join((*sorted(ranked[:size]), label, str(len(taken)) if size > len(ranked) else ""))
            name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
            if name not in taken:
                break
        taken.add(name)
        found.append(name)
    return found


def _core(templates: Sequence[Words]) -> list[str]:
    """Return the stems of a cluster, those of most templates first."""
    counts: Counter[str] = Counter()
    for reason, statement in templates:
        counts.update(reason if len(reason) >= FEWEST_WORDS else reason | statement)
    return sorted(counts, key=lambda stem: (-counts[stem], stem))


def cluster(templates: Mapping[Words, int]) -> dict[Words, Words]:
    """Return for each template the one that stands for its cluster: the one of most runs.

    Args:
        templates: The number of runs of each; the first of equals stands for the others.
    """
    vectors = _vectors(templates)
    order = sorted(templates, key=lambda each: -templates[each])  # stable
    groups = _near(order, vectors)
    parents = _linked(groups)
    heads: dict[int, Words] = {}
    for number, group in enumerate(groups):
        heads.setdefault(_root(parents, number), group.head)
    return {words: heads[_root(parents, number)] for number, group in enumerate(groups) for words in group.members}


@dataclass(slots=True)
class _Templates:
    """Templates that are nearly the same."""

    head: Words
    members: list[Words]
    total: dict[str, float]
    """The sum of their unit vectors."""
    size: int = 1


def _vectors(templates: Iterable[Words]) -> dict[Words, dict[str, float]]:
    """Return the unit vector of each template: words that are in nearly all of them count for little."""
    known: Counter[str] = Counter()
    count = 0
    for reason, statement in templates:
        known.update(reason | statement)
        count += 1
    weights = {word: math.log(1 + count / number) for word, number in known.items()}
    found: dict[Words, dict[str, float]] = {}
    for words in templates:
        reason, statement = words
        share = 1.0 if len(reason) < FEWEST_WORDS else STATEMENT
        # Sorted, so that sums of floats do not depend on the seed of Python's hashes.
        vector = {word: weights[word] * share for word in sorted(statement)}
        vector.update({word: weights[word] for word in sorted(reason)})
        length = math.sqrt(sum(value * value for value in vector.values()))
        found[words] = {word: value / length for word, value in vector.items()} if length else {}
    return found


def _near(order: Iterable[Words], vectors: Mapping[Words, dict[str, float]]) -> list[_Templates]:
    """Join templates that are nearly the same as an earlier one."""
    groups: list[_Templates] = []
    postings: dict[str, list[tuple[int, float]]] = {}
    for words in order:
        vector = vectors[words]
        scores: dict[int, float] = {}
        for word, value in vector.items():
            for number, other in postings.get(word, ()):
                scores[number] = scores.get(number, 0.0) + value * other
        best = max(scores.items(), key=lambda item: (item[1], -item[0]), default=(0, 0.0))
        if best[1] >= ALIKE:
            group = groups[best[0]]
            group.members.append(words)
            group.size += 1
            for word, value in vector.items():
                group.total[word] = group.total.get(word, 0.0) + value
            continue
        for word, value in vector.items():
            postings.setdefault(word, []).append((len(groups), value))
        groups.append(_Templates(words, [words], dict(vector)))
    return groups


def _linked(groups: list[_Templates]) -> list[int]:
    """Return the parent of each group after average linkage; a group that stands for a cluster is its own."""
    parents = list(range(len(groups)))
    active = {number: groups[number].size for number in range(min(len(groups), MOST_LINKED))}
    dots: dict[int, dict[int, float]] = {number: {} for number in active}
    postings: dict[str, list[tuple[int, float]]] = {}
    for number, row in dots.items():
        shared: Counter[int] = Counter()
        for word, value in groups[number].total.items():
            for other, theirs in postings.get(word, ()):
                row[other] = row.get(other, 0.0) + value * theirs
                shared[other] += 1
            postings.setdefault(word, []).append((number, value))
        for other, count in shared.items():
            if count < FEWEST_SHARED and groups[number].head[1] != groups[other].head[1]:
                del row[other]
    for number, row in dots.items():
        for other, value in row.items():
            if other < number:
                dots[other][number] = value
    best = {number: _closest(number, dots, active) for number in active}
    while len(active) > 1:
        one = max(best, key=lambda number: (best[number][0], -number))
        alike, other = best[one]
        if alike < LEAST_ALIKE:
            break
        first, second = min(one, other), max(one, other)
        parents[second] = first
        for third, value in dots.pop(second).items():
            if third != first and third in active:
                dots[first][third] = dots[third][first] = dots[first].get(third, 0.0) + value
        active[first] += active.pop(second)
        del best[second]
        for third in active:
            dots[third].pop(second, None)
            if third == first or best[third][1] in (first, second) or first in dots[third]:
                best[third] = _closest(third, dots, active)
    return parents


def _closest(number: int, dots: Mapping[int, Mapping[int, float]], sizes: Mapping[int, int]) -> tuple[float, int]:
    """Return the mean similarity to the closest other group, and its number."""
    own = sizes[number]
    alike, other = max(
        ((value / (own * sizes[each]), -each) for each, value in dots[number].items() if each in sizes),
        default=(0.0, 0),
    )
    return alike, -other


def _root(parents: list[int], number: int) -> int:
    while parents[number] != number:
        number = parents[number]
    return number
