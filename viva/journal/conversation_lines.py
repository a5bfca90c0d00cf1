"""Splits a journal into the lines of its runs, one run at a time, with almost no parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.journal.errors import JournalError
from viva.journal.line_checksum import is_sealed, is_unchanged
from viva.journal.lines import (
    DATA,
    HEAD,
    KINDS,
    Damage,
    parse,
    raw_lines,
    round_number,
    sealed_data,
    sealed_round,
    see_runs,
)
from viva.journal.run_index import LastLines
from viva.journal.tallies.round_tally import RoundTally, number_of
from viva.records.quick.readers import read_ending
from viva.records.quick.records import read_setting
from viva.records.transcript import is_ended

CONVERSATION = frozenset({"setting", "round", "transcript"})
MOST_OPEN = 1024 * 1024 * 1024
"""Maximum size in bytes of the lines of runs in progress at one position in the file, all of which are in memory."""
LINE_COST = 400
"""Memory that a line requires in addition to its content, in bytes."""
JUDGED = frozenset({"insight", "run"})
Line = tuple[int, str, bytes, int]
"""One line of a journal: its number in the file, from 1; its kind; its bytes; and where its data begin if its checksum
was found to be right, else 0. A plain tuple, because there are hundreds of thousands."""


@dataclass(frozen=True, slots=True)
class ConversationLines:
    """The lines of one run's newest attempt in a journal. They are plain data that can be sent to another process."""

    folder: str
    """The journal's folder, which contains the images and long texts that the lines name."""
    run: str
    attempt: int
    lines: tuple[str, ...]
    """Setting, rounds and transcript, each a line of JSON."""
    judged: tuple[str, ...]
    """Insights and record, if there are any, each a line of JSON."""
    ended: bool
    """Whether the conversation ended, as `Transcript.ended` defines it."""
    gap: str | None = None
    """Which rounds are missing, in words; None if the conversation is whole. With a gap, it is not judged."""

    @property
    def content(self) -> bytes:
        """Return the lines of the conversation as a journal holds them."""
        return "\n".join((*self.lines, "")).encode()

    def without_judgements(self) -> ConversationLines:
        """Return the conversation alone, to be judged again."""
        return ConversationLines(self.folder, self.run, self.attempt, self.lines, (), self.ended, self.gap)


@dataclass(slots=True)
class RunLines:
    """Collects the lines of one run's newest attempt, in the order of the file."""

    attempt: int
    lines: list[Line] = field(default_factory=list)
    size: int = 0
    """Memory that the lines require, in bytes."""
    ended: bool = False
    rounds: RoundTally = field(default_factory=RoundTally)
    count: int | None = None
    """The number of rounds at the end, if it is known."""
    head: bytes = b""
    """How the lines of its rounds begin; empty before the first of them."""


def read_conversation_lines(
    folder: Path, run: str | None = None, damage: Damage | None = None, *, known: LastLines | None = None
) -> Iterator[ConversationLines]:
    """Yield the runs of a journal in the order of `read_runs`, undecoded; `decode_run` turns each into a StoredRun.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read; None for all.
        damage: Counts the lines that had to be skipped.
        known: Where the runs to read end, if only some are to be read.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    damage = damage if damage is not None else Damage()
    for name, gathered in gather_runs(folder, run, damage, known=known):
        lines, judged = _texts(gathered.lines, damage)
        gap = gathered.rounds.gap(gathered.count)
        yield ConversationLines(str(folder), name, gathered.attempt, lines, judged, gathered.ended, gap)


def _texts(lines: list[Line], damage: Damage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of the conversation, and those of its judgement."""
    conversation = _decoded([(number, raw) for number, kind, raw, _ in lines if kind in CONVERSATION], damage)
    judged: list[tuple[int, bytes]] = []
    for number, kind, raw, _ in lines:
        if kind in JUDGED:
            if is_unchanged(raw) is False:
                damage.add(number)
            else:
                judged.append((number, raw))
    return conversation, _decoded(judged, damage)


def _decoded(lines: list[tuple[int, bytes]], damage: Damage) -> tuple[str, ...]:
    """Return lines as text, without their line ends."""
    with suppress(UnicodeDecodeError):
        # At once, which takes a fifth of the time; the number is wrong if the last one lacks its line end.
        texts = b"".join([raw for _, raw in lines]).decode().split("\n")
        if len(texts) == len(lines) + 1:
            del texts[-1]
            return tuple(texts)
    found = []
    for number, raw in lines:
        try:
            found.append(raw.decode().rstrip("\n"))
        except UnicodeDecodeError:
            damage.add(number)
    return tuple(found)


def gather_runs(
    folder: Path,
    run: str | None,
    damage: Damage,
    *,
    check_all: bool = False,
    known: LastLines | None = None,
    refused: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, RunLines]]:
    """Yield the id and the lines of each run in the order in which they ended, unfinished runs last.

    Memory use grows with the number of runs that were in progress at the same time, and by a few bytes for each run.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read; None for all.
        damage: Counts the lines that had to be skipped.
        check_all: Whether to parse unused lines (of older attempts) too, to count the torn ones.
        known: Where the runs to read end, if it is known.
        refused: Tells of each run, at its first line, whether to pass over all of its lines.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    last, end = _last_lines(folder, run) if known is None else (known.runs, known.end)
    if run is not None and run not in last:
        raise JournalError(f"{folder} holds no run {run!r}.{_known(_last_lines(folder, None)[0])}")
    gatherer, wanted, other = _Gatherer(damage, check_all), last if run is None else (run,), b"\n"
    choice = _Choice(wanted, refused) if run is not None or known is not None or refused is not None else None
    for number, _, raw in raw_lines(folder):
        if number > end:
            # Another process may append while this one reads: lines after the first pass are left to the next reader.
            break
        if raw.startswith(other):  # most lines are followed by others of the same run
            continue
        name = gatherer.take_next(number, raw)
        if name is None:
            head = HEAD.match(raw)
            if choice is not None and head is not None and choice.leaves(head[2], gatherer.runs):
                other = head[0]
                continue
            name = gatherer.take(number, raw, head, wanted)
        if name is not None and number == last[name] and name in gatherer.runs:
            yield name, gatherer.give(name)
    # Empty, unless the file was replaced after the first pass.
    yield from gatherer.runs.items()


class _Choice:
    """Tells of the lines of which runs are passed over."""

    def __init__(self, wanted: Container[str], refused: Callable[[str], bool] | None) -> None:
        self._wanted = wanted
        self._refused = refused
        self._left: set[bytes] = set()

    def leaves(self, name: bytes, begun: Container[str]) -> bool:
        """Return whether a run's line is passed over; `begun` are the runs of which lines were taken."""
        if name in self._left:
            return True
        run = name.decode()
        if run not in self._wanted:
            return True
        if self._refused is None or run in begun or not self._refused(run):
            return False
        self._left.add(name)
        return True


class _Gatherer:
    """Collects the lines of each run."""

    def __init__(self, damage: Damage, check_all: bool) -> None:
        self.runs: dict[str, RunLines] = {}
        self._heads: dict[bytes, tuple[str, RunLines]] = {}
        """The runs of which rounds were found, by how the lines of their rounds begin."""
        self._open_bytes = 0
        self._damage = damage
        self._check_all = check_all

    def give(self, name: str) -> RunLines:
        """Return a complete run."""
        gathered = self.runs.pop(name)
        self._heads.pop(gathered.head, None)
        self._open_bytes -= gathered.size
        return gathered

    def take_next(self, number: int, raw: bytes) -> str | None:
        """Add a line if it holds the next round of a run of which a round was added; return the run's id, or None.

        It does what `take` does, in a third of the time: most lines are such rounds.
        """
        head = raw[: raw.find(DATA) + len(DATA)]
        known = self._heads.get(head)
        if known is None:
            return None
        name, gathered = known
        rounds, start = gathered.rounds, len(head) - 1
        if rounds.beyond or not raw.startswith(b'{"number":%d,' % (rounds.upto + 1), start) or not is_sealed(raw):
            return None
        rounds.upto += 1
        self._add(gathered, (number, "round", raw, start))
        return name

    def take(self, number: int, raw: bytes, head: re.Match[bytes] | None, wanted: Container[str]) -> str | None:
        """Add one line, if its run is wanted; return the run's id, or None if the line does not contain it."""
        data: dict[str, Any] | None = None
        round_: int | None = None
        start = 0
        if head is not None:
            kind, name, attempt = head[1].decode(), head[2].decode(), int(head[3])
        elif (event := parse(raw, number, self._damage)) is not None:
            name, kind, attempt, data = event.run, event.kind, event.attempt, event.data
        else:
            return None
        if name not in wanted:
            return None
        gathered = self.runs.get(name)
        begins = gathered is None or attempt > gathered.attempt
        if head is not None and kind == "round":
            # Checked, but not parsed: most conversations are only copied, or parsed by another process.
            round_ = sealed_round(raw, head)
            if round_ is not None:
                start = head.end() - 1 if raw.endswith(b"\n") else 0
            elif (round_ := round_number(raw, head, number, self._damage)) is None:
                return name
        elif (
            kind == "setting" and (setting := sealed_data(raw, head)) is not None and read_setting(setting) is not None
        ):
            pass  # read by native code, which shows as well as a parser that the line is whole
        elif kind == "transcript" and (end := sealed_data(raw, head)) is not None and (read := read_ending(end)):
            data = read
        elif data is None and (begins or kind in ("setting", "transcript") or kind not in KINDS):
            event = parse(raw, number, self._damage)
            if event is None:
                # A torn line must not start an attempt, which would discard the attempt before.
                return name
            data = event.data
        # What was parsed takes many times as much memory as the line, which is parsed again when the run is read.
        line = number, kind, raw, start
        if gathered is None or attempt > gathered.attempt:
            if gathered is not None:
                self._pass_over(self.give(name).lines)
            gathered = self.runs[name] = RunLines(attempt)
        elif attempt < gathered.attempt:
            self._pass_over([line])
            return name
        self._add(gathered, line)
        if round_ is not None:
            gathered.rounds.see(round_)
            if head is not None and not gathered.head:
                gathered.head = head[0]
                self._heads[head[0]] = name, gathered
        elif data is not None:
            _note(gathered, kind, data)
        return name

    def _add(self, gathered: RunLines, line: Line) -> None:
        gathered.lines.append(line)
        cost = len(line[2]) + LINE_COST
        gathered.size += cost
        self._open_bytes += cost
        if self._open_bytes > MOST_OPEN:
            raise JournalError(
                f"this journal cannot be read: it has more than {MOST_OPEN >> 20:,} MiB of runs in progress at once "
                f"(line {line[0]:,})."
            )

    def _pass_over(self, lines: list[Line]) -> None:
        if self._check_all:
            for number, _, raw, _ in lines:
                parse(raw, number, self._damage)


def _note(gathered: RunLines, kind: str, data: dict[str, Any]) -> None:
    """Update how far the conversation progressed from one line."""
    if kind == "round":
        if (round_ := number_of(data.get("number"))) is not None:
            gathered.rounds.see(round_)
    elif kind == "transcript":
        gathered.ended = is_ended(data.get("source"), data.get("stop"))
        gathered.count = number_of(data.get("round_count"), least=0)


def _last_lines(folder: Path, run: str | None) -> tuple[dict[str, int], int]:
    """Return the number of each run's last line, also of torn lines with a whole head, and of the file's last line."""
    last: dict[str, int] = {}
    end, latest, name = 0, b"", ""
    for number, _, line in raw_lines(folder):
        end = number
        if (head := HEAD.match(line)) is not None:
            if head[2] != latest:
                latest = head[2]
                name = latest.decode()
            elif name in last:
                last[name] = number
                continue
        elif (event := parse(line)) is not None:
            latest, name = b"", event.run
        else:
            continue
        if run is None or name == run:
            last[name] = number
            see_runs(folder, len(last))
    return last, end


def _known(last: dict[str, int]) -> str:
    if not last:
        return " The journal is empty."
    names = list(last)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f" It has: {', '.join(names[:5])}{more}."
