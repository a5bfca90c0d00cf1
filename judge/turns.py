"""Writes turns as text for a model: heads at the left margin, words indented, and all of it short enough for a prompt.

An agent chooses how many steps it reports, and how long they are. They must neither make its run one that no judge
accepts, nor crowd out what was said and what the environment recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Literal

from viva.judge.steps import MOST_TOOLS, Part, cut, indented, step_text, visible
from viva.records.text import as_long_as, counted, one_line
from viva.records.transcript import LIVE, Round, Step, Transcript

TURN_SHOWN = 20_000
"""Maximum number of characters of one turn in a judge's prompt, head and tail; the cut is marked."""
TRANSCRIPT_SHOWN = 400_000
"""Number of characters of a transcript in a prompt; long conversations show less of each turn, but at least 400."""
LEAST_SHOWN = 400
"""Maximum number of characters of one turn if there are very many; turns are left out then, steps before words."""
GAP = 80
"""Number of characters of the line that stands for turns that are left out, about."""
TEXTS_SHOWN, LEAST_OF_A_TEXT = 300_000, 100
"""Number of characters for which the texts of steps are shortened, those of each source by themselves, and the maximum
of one text if there are very many."""
WORDS_SHOWN = 4
"""Maximum size of all that was said, as a multiple of the size of a transcript: rounds are limited, steps are not."""
SHORTER, BRIEF = 60_000, 12_000
"""Numbers of characters of a transcript for a model whose provider refuses longer ones: about 15,000 and 3,000 tokens
of prose, and several times as many of rare characters."""

Source = Literal["given", "asked", "said", "seen", "told"]
"""By whom a turn is: the case, or the examiner before the agent said anything; the examiner afterwards, whose words an
agent may have brought about, or a user in a recording, whose words may be those of whoever delivers it; the agent's
words; a step that the environment recorded; another step, which the agent reported or a recording has."""
WORDS: tuple[Source, ...] = ("given", "asked", "said")
STEPS: tuple[Source, ...] = ("seen", "told")


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn, or one named field, of a text for a model."""

    head: str
    """Viva's own words: they stand at the left margin."""
    words: str | None = None
    """Anybody's words."""
    by: Source = "given"
    tool: str | None = None
    """The tool that a step called with success; it is named also if the step is left out."""
    colon: str = ":"
    """What stands between head and words."""
    given: int | None = None
    """Number of characters at the beginning of the words that are shown with the head where the rest is veiled; None if
    nothing is."""


@dataclass(frozen=True, slots=True)
class ShownTurns:
    """Turns that are one field of a text for a model, in which they are shortened by the rules of `write_turns`."""

    turns: tuple[ShownTurn, ...]
    most: int = TURN_SHOWN
    """Number of characters for which they are shortened."""

    @property
    def text(self) -> str:
        """Return all of them."""
        return "\n".join(_written(turn, turn.words) for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a transcript a model is shown."""

    together: int = TRANSCRIPT_SHOWN
    """Number of characters for which turns are shortened."""
    without: tuple[Source, ...] = ()
    """Whose turns are left out."""
    whole: tuple[Source, ...] = ()
    """Whose turns have the room of a whole transcript to themselves, however many or few of the others are shown."""
    veiled: tuple[Source, ...] = ()
    """In whose turns other words of the same length in bytes stand, which are nobody's."""

    def hides(self, source: Source) -> bool:
        """Return whether no words of a source are shown."""
        return source in self.without or source in self.veiled


WHOLE = Detail()
WITHOUT_STEPS = Detail(without=("told",))
"""Without the steps that the agent tells of itself."""
IN_BRIEF = Detail(BRIEF)
LESS = (Detail(SHORTER), IN_BRIEF)
"""What is shown one after the other to a model whose provider refuses the whole."""
LESS_WITHOUT_STEPS = (WITHOUT_STEPS, Detail(SHORTER, ("told",)), Detail(BRIEF, ("told",)))
OF_THE_AGENT: tuple[Source, ...] = ("asked", "said", *STEPS)
WITHOUT_THE_AGENT = Detail(BRIEF, STEPS, veiled=("said",))
"""Tells whether it is for the agent's words that a provider refuses a request. It is no longer than what was refused:
gaps in place of short replies would be."""
NOTHING_OF_THE_AGENT = Detail(BRIEF, STEPS, veiled=("asked", "said"))
"""Tells whether it is for them, for what the agent may have made the examiner say, or for a recording's user. It is as
long as the former in bytes: a provider that refuses that for its length refuses this, too."""
VEIL = "not shown "
"""What stands, repeated, in place of words that are veiled."""
FIXED_EXAMINERS = ("script", "replay")
"""The names of examiners whose messages were fixed before the exam."""
THE_EXAMINERS: tuple[Source, ...] = ("given", "asked")
FOR_A_REVIEW = Detail(whole=THE_EXAMINERS)
"""For a judge of the examiner, whose messages no agent may hide."""
LESS_FOR_A_REVIEW = (
    Detail(without=("told",), whole=THE_EXAMINERS),
    Detail(SHORTER, STEPS, whole=THE_EXAMINERS),
    Detail(BRIEF, STEPS, whole=THE_EXAMINERS),
)


def source_of_message(transcript: Transcript, round_: Round) -> Source:
    """Return whether an agent may have brought about the message to it in a round, which a transcript holds.

    All that a recording holds may come from one hand: its user's words take it out of the averages no more than the
    agent's.
    """
    is_first = round_ is transcript.rounds[0] and round_.number <= 1
    is_fixed = is_first or transcript.participants.get("examiner") in FIXED_EXAMINERS
    return "given" if is_fixed and transcript.source == LIVE else "asked"


def step_turn(step: Step, head: str, words: str | None = None, colon: str = ":") -> ShownTurn:
    """Return a step as a turn."""
    if not step.from_environment:
        return ShownTurn(head, words, "told", colon=colon)
    # An agent may invent the names of tools, but not call one of them with success.
    return ShownTurn(head, words, "seen", step.tool if step.error is None else None, colon)


def steps_as_turns(
    steps: Iterable[tuple[str, Step | None, Sequence[Part]]], most: int, marker: str
) -> tuple[ShownTurn, ...]:
    """Return steps as turns, each of whose texts is cut where it is too long, so that none of its parts is lost.

    Args:
        steps: Head and parts of each step; with None for a reply that no step holds.
        most: Maximum number of characters of one text; it is less if those of one source are too long together.
        marker: The marker of gaps.
    """
    every = [
        (step_turn(step, head, colon="") if step else ShownTurn(head, by="said", colon=""), parts)
        for head, step, parts in steps
    ]
    sizes: dict[Source, list[int]] = {}
    for turn, parts in every:
        sizes.setdefault(turn.by, []).extend(len(text) for _, text in parts)
    longest = {by: max(LEAST_OF_A_TEXT, min(most, _level(TEXTS_SHOWN, each))) for by, each in sizes.items()}
    return tuple(replace(turn, words=visible(step_text(parts, longest[turn.by], marker))) for turn, parts in every)


def write_turns(turns: Sequence[ShownTurn], marker: str, detail: Detail = WHOLE) -> tuple[str, bool]:
    """Return turns as text, each with its head at the left margin, and whether anything is left out.

    Turns that have room together are shown whole, up to 20,000 characters of each; otherwise the long ones are
    shortened equally, to what the short ones leave. Words and environment steps have half of the room each, and what
    the other half leaves; the agent's own steps have what is left then, or a quarter beside it, and shorten nothing
    else. If there are so many turns of one kind that not even 400 characters of each have room, only its first and last
    ones are shown; calls of the environment are still counted. Each gap carries the marker.

    Args:
        turns: The turns, at least one.
        marker: The marker of gaps.
        detail: How much is shown.
    """
    levels = _levels(turns, detail)
    written: list[str] = []
    veiled: dict[int, str] = {}
    shortened = False
    for place, turn in enumerate(turns):
        most = max(LEAST_SHOWN, levels[turn.by])
        short = turn.words if turn.words is None else _cut_as_sent(turn.words, most, marker)
        shortened = shortened or short is not turn.words
        written.append(_written(turn, short))
        if turn.by in detail.veiled:
            veiled[place] = _veiled(turn, short)
    kept = _kept(turns, written, levels, detail)
    # Only now: what is veiled may have more characters, and must not leave out anything for that.
    written = [veiled.get(place, text) for place, text in enumerate(written)]
    if len(kept) == len(turns):
        return "\n".join(written), shortened or bool(veiled)
    parts: list[str] = []
    for is_kept, places in groupby(range(len(turns)), kept.__contains__):
        if is_kept:
            parts += [written[place] for place in places]
        else:
            parts.append(_gap([turns[place] for place in places], marker, named=not detail.hides("seen")))
    return "\n".join(parts), True


def veil(words: str) -> str:
    """Return what stands in place of some words: as many lines, each as long as it was, in bytes."""
    return "\n".join(as_long_as(line, VEIL) for line in words.split("\n"))


def _veiled(turn: ShownTurn, short: str | None) -> str:
    """Return a turn as it is written if it is veiled: as long as with the words that would be shown otherwise.

    So is its head, in which an agent may choose the ids of steps, unless a part of the words was given.
    """
    words = turn.words or ""
    if turn.given is None or short is None:
        return _written(replace(turn, head=f"[{veil(turn.head[2:])}]"), short and veil(short))
    # Of words that are cut, the end is at the end.
    pairs = enumerate(zip(short, words, strict=False))
    head = next((place for place, (one, other) in pairs if one != other), len(words))
    given = turn.given if turn.given <= head else max(head, len(short) - len(words) + turn.given)
    return _written(turn, f"{short[:given]}{veil(short[given:])}")


def _written(turn: ShownTurn, words: str | None) -> str:
    return turn.head if words is None else f"{turn.head}{turn.colon}\n{indented(words)}"


def _size_written(turn: ShownTurn) -> int:
    """Return about how long a turn is as it is written, head and indentation included."""
    words = turn.words or ""
    return len(turn.head) + len(words) + 4 * words.count("\n") + 8


def _groups(detail: Detail) -> tuple[tuple[Source, ...], ...]:
    """Return the sources whose turns share room: those with room of their own, other words, and both kinds of steps."""
    return detail.whole, tuple(by for by in WORDS if by not in detail.whole), ("seen",), ("told",)


def _levels(turns: Sequence[ShownTurn], detail: Detail) -> dict[Source, int]:
    """Return the number of characters to which the turns of each source must be shortened so that they have room.

    Words and recorded steps have half of the room each, and what the other half leaves; other steps have what is then
    left, or a quarter. Turns that are left out count as if they were shown: a request without them is no longer.
    """
    whole, words, seen, told = (
        [min(_size_written(turn), TURN_SHOWN) for turn in turns if turn.by in group] for group in _groups(detail)
    )
    gaps = [is_left_out for is_left_out, _ in groupby(turns, lambda turn: turn.by in detail.without)].count(True)
    room = max(detail.together - sum(whole) - gaps * GAP, detail.together // 2)
    of_words, of_seen = (
        _level(max(room - sum(other), room // 2), own) for own, other in ((words, seen), (seen, words))
    )
    taken = sum(min(size, most) for most, own in ((of_words, words), (of_seen, seen)) for size in own)
    found = _level(TRANSCRIPT_SHOWN, whole), of_words, of_seen, _level(max(room - taken, room // 4), told)
    return {by: level for group, level in zip(_groups(detail), found, strict=True) for by in group}


def _level(together: int, sizes: Sequence[int]) -> int:
    """Return the number of characters to which turns must be shortened so that they have room together."""
    left = together
    for shown, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - shown)
        if size > share:
            return min(TURN_SHOWN, share)
        left -= size
    return TURN_SHOWN


def _kept(turns: Sequence[ShownTurn], written: Sequence[str], levels: Mapping[Source, int], detail: Detail) -> set[int]:
    """Return the places of the turns that are shown: of each source all, if they have room at their level."""
    sizes, most = [len(text) + 1 for text in written], detail.together
    least = (WORDS_SHOWN * TRANSCRIPT_SHOWN, WORDS_SHOWN * most, most // 2, most // 4)
    kept: list[int] = []
    for group, room in zip(_groups(detail), least, strict=True):
        places = [place for place, turn in enumerate(turns) if turn.by in group and turn.by not in detail.without]
        is_short = any(levels[by] < LEAST_SHOWN for by in group)
        kept += _ends(places, sizes, max(room, most - _size(kept, sizes))) if is_short else places
    return set(kept)


def _ends(places: Iterable[int], sizes: Sequence[int], room: int) -> list[int]:
    """Return the places of what has room: all, or else the first and the last ones."""
    every = list(places)
    if _size(every, sizes) <= room:
        return every
    first = _fitting(every, sizes, room * 3 // 4)
    return [*first, *_fitting(every[len(first) :][::-1], sizes, room // 4)]


def _fitting(places: Sequence[int], sizes: Sequence[int], room: int) -> list[int]:
    totals = accumulate(sizes[place] for place in places)
    return [place for place, total in zip(places, totals, strict=True) if total <= room]


def _size(places: Iterable[int], sizes: Sequence[int]) -> int:
    return sum(sizes[place] for place in places)


def _gap(turns: Sequence[ShownTurn], marker: str, *, named: bool) -> str:
    """Return what stands for turns that are left out; `named` counts calls that the environment recorded by tool."""
    what = counted(len(turns), "step" if all(turn.by in STEPS for turn in turns) else "turn")
    length = sum(len(turn.words or "") for turn in turns)
    line = f"[… {what} with {length:,} characters left out, {marker} …]"
    calls = Counter(one_line(turn.tool, 60) for turn in turns if turn.by == "seen" and turn.tool)
    if not calls or not named:
        return line
    counts = [f"{tool}: {counted(number, 'call')}" for tool, number in calls.most_common(MOST_TOOLS)]
    return "\n".join([line, indented("\n".join(["recorded by the environment among them:", *counts]))])


def _cut_as_sent(words: str, most: int, marker: str) -> str:
    """Return the head and tail of a turn that is too long, also if indentation makes it so.

    Indentation makes prose a little longer, for which there is room; line breaks alone would be five times as long.
    """
    short = cut(words, most, marker)
    room = 2 * most + 100
    if len(short) + 4 * short.count("\n") <= room:
        return short
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if len(indented(cut(words, middle, marker))) <= room:
            low = middle
        else:
            high = middle - 1
    return cut(words, low, marker)
