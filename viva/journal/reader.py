"""Reads runs from a journal, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from viva.journal.conversation_lines import CONVERSATION, ConversationLines, Line, gather_runs, read_conversation_lines
from viva.journal.line_checksum import SEAL_LENGTH, is_unchanged
from viva.journal.lines import EXCHANGE, FORMAT, Damage, parse, sealed_data, sealed_text
from viva.journal.long_texts import KeptTexts, restore_texts
from viva.journal.run_index import LastLines, read_records
from viva.journal.tallies.round_tally import RoundTally, number_of
from viva.records.codec import decode, decode_json
from viva.records.quick.readers import read_round, read_round_lines, read_transcript, read_whole_setting
from viva.records.quick.records import is_struct, read_record
from viva.records.run_record import Outcome, RunRecord, Setting, as_earned
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight

__all__ = [
    "ConversationLines",
    "StoredRun",
    "decode_run",
    "read_conversation_lines",
    "read_records",
    "read_runs",
    "split_reference",
]


MOST_AT_ONCE = 4 * 1024 * 1024
"""Maximum number of characters of rounds that are decoded at once, for which they are in memory once more."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run in a journal, in its newest attempt."""

    folder: Path
    """The journal's folder."""
    id: str
    attempt: int
    setting: Setting
    transcript: Transcript
    """Its `stop` is None if the conversation did not end."""
    ended: bool
    """Whether the conversation ended; if not, the rounds are those that were saved before it broke off."""
    insights: tuple[Insight, ...]
    """The latest insight of each evaluator for each subject."""
    record: RunRecord | None
    """None if the run did not end."""
    gap: str | None = None
    """Which rounds are missing, in words; None if no saved round is missing."""
    lines: bytes = b""
    """The unchanged lines of setting, rounds and transcript, for copying."""
    asked: bytes = b""
    """The line with what judges' models were asked (`viva.exam.judging.exchanges` reads it); empty if there is none."""

    @property
    def score(self) -> float | None:
        """Return the record's score in [0, 1]; None if nothing was judged or the run did not end."""
        return None if self.record is None else self.record.score

    @property
    def outcome(self) -> Outcome | None:
        """Return the record's outcome; None if the run did not end."""
        return None if self.record is None else self.record.outcome


@dataclass(slots=True)
class _Decoded:
    setting: Setting = field(default_factory=Setting)
    rounds: dict[int, Round] = field(default_factory=dict)
    transcript: Transcript | None = None
    insights: dict[tuple[str, str], Insight] = field(default_factory=dict)
    record: RunRecord | None = None


def split_reference(reference: str) -> tuple[Path, str | None]:
    """Split `FOLDER` or `FOLDER#RUN-ID` into the folder and the run id, or None without one."""
    path, mark, run = reference.rpartition("#")
    if mark and not Path(reference).exists():
        return Path(path), run
    return Path(reference), None


def read_runs(
    folder: Path,
    run: str | None = None,
    damage: Damage | None = None,
    *,
    keep_lines: bool = False,
    known: LastLines | None = None,
    wanted: Callable[[str], bool] | None = None,
    asks_early: bool = False,
    quick: bool = False,
) -> Iterator[StoredRun]:
    """Yield the runs of a journal in the order in which they ended, unfinished runs last.

    Memory use grows with the number of runs that were in progress at the same time, and by a few bytes for each run.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read; None for all.
        damage: Counts the lines that had to be skipped.
        keep_lines: Whether to include the raw lines, for copying them into another journal.
        known: Where the runs to read end, if it is known.
        wanted: Tells of each run, when its turn comes, whether to decode it.
        asks_early: Whether `wanted` is asked at the first line of a run as well, so that the lines of a run that it
            refuses are passed over. What it refuses once it must refuse later, too.
        quick: Whether records may be structs, as `read_record` makes them, to be shown and not handed out; a run with a
            record then has its insights there alone.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    damage = damage if damage is not None else Damage()
    refused = None if wanted is None or not asks_early else lambda name: not wanted(name)
    for name, gathered in gather_runs(folder, run, damage, check_all=True, known=known, refused=refused):
        if wanted is not None and not wanted(name):
            continue
        yield _decode(folder, name, gathered.attempt, gathered.lines, damage, keep_lines=keep_lines, quick=quick)


def decode_run(lines: ConversationLines, damage: Damage | None = None) -> StoredRun:
    """Decode a run from its lines; the result is the same as from `read_runs`.

    Args:
        lines: Lines from `read_conversation_lines`, of this or another process. Long texts are read from its folder.
        damage: Counts the lines that cannot be decoded, without their numbers.
    """
    damage = damage if damage is not None else Damage()
    decoded, texts = _Decoded(), KeptTexts(_path(lines.folder))
    for text in (*_without_rounds(lines.lines, decoded), *lines.judged):
        try:
            value = _value_in(text, texts, damage)
        except ValueError:
            damage.add(0)
        else:
            if value is not None:
                _take(decoded, value)
    return _stored(decoded, texts.folder, lines.run, lines.attempt, b"")


def _without_rounds(lines: tuple[str, ...], decoded: _Decoded) -> tuple[str, ...]:
    """Decode the rounds of a conversation at once, and return its other lines; all of them if that is not possible."""
    # Between the setting and the transcript, as nearly always.
    rounds = lines[1:-1]
    if not rounds or not lines[0].startswith(_SETTING) or sum(map(len, rounds)) > MOST_AT_ONCE:
        return lines
    if (found := read_round_lines(rounds)) is None:
        return lines
    for round_ in found:
        decoded.rounds.setdefault(round_.number, round_)
    return lines[0], lines[-1]


_SETTING = f'{{"v":{FORMAT},"event":"setting",'


_path = lru_cache(maxsize=16)(Path)
"""One object for each journal, which knows its hash: making one takes as long as decoding a setting."""


def _decode(
    folder: Path, run: str, attempt: int, lines: list[Line], damage: Damage, *, keep_lines: bool, quick: bool
) -> StoredRun:
    """Decode a run, and take away its lines, so that a long one is not in memory twice."""
    decoded, texts = _Decoded(), KeptTexts(folder)
    kept = []
    asked = b""
    if quick and any(kind == "run" for _, kind, _, _ in lines):
        # Its record repeats the insights, which are read only where the record cannot be.
        lines.sort(key=lambda line: line[1] == "insight")
    lines.reverse()
    while lines:
        number, kind, raw, _ = line = lines.pop()
        if quick and kind == "insight" and decoded.record is not None:
            continue
        if kind == EXCHANGE:  # compressed, and read by few
            asked = raw
            if is_unchanged(raw) is False:
                damage.add(number)
                asked = b""
            continue
        try:
            value = _value(line, texts, damage, _SHOWN_QUICKLY if quick else _QUICKLY)
        except ValueError:
            damage.add(number)
            continue
        if value is None:
            continue
        _take(decoded, value)
        if keep_lines and kind in CONVERSATION:
            kept.append(raw.removesuffix(b"\n") + b"\n")
    return _stored(decoded, folder, run, attempt, b"".join(kept), asked)


def _stored(decoded: _Decoded, folder: Path, run: str, attempt: int, lines: bytes, asked: bytes = b"") -> StoredRun:
    ending = decoded.transcript
    # The event holds everything except the rounds, which were saved one by one before it.
    rounds = tuple([decoded.rounds[number] for number in sorted(decoded.rounds)])
    transcript, gap = (ending or Transcript()).with_rounds(rounds), _gap(rounds, ending)
    # What the record alone tells, where a reply may be among what is missing.
    answered = False if gap is None and not transcript.answered else None
    return StoredRun(
        folder,
        run,
        attempt,
        decoded.setting,
        transcript,
        ending is not None and ending.ended,
        tuple(decoded.insights.values()),
        None if decoded.record is None else as_earned(decoded.record, answered),
        gap,
        lines,
        asked,
    )


def _gap(rounds: tuple[Round, ...], ending: Transcript | None) -> str | None:
    tally = RoundTally()
    for round_ in rounds:
        tally.see(round_.number)
    return tally.gap(number_of(ending.round_count, least=0) if ending is not None else None)


def _take(decoded: _Decoded, value: object) -> None:
    """Add what a line holds to what the lines before it held."""
    if isinstance(value, Round):
        # Lines may have been copied twice, or imported twice by an earlier version; the first ones count.
        decoded.rounds.setdefault(value.number, value)
    elif isinstance(value, Setting):
        decoded.setting = value
    elif isinstance(value, Transcript):
        decoded.transcript = value
    elif isinstance(value, Insight):
        decoded.insights[value.evaluator, value.subject] = value
    elif isinstance(value, RunRecord) or is_struct(value):
        decoded.record = cast("RunRecord", value)


_TYPES: dict[str, type[Round | Setting | Transcript | Insight | RunRecord]] = {
    "round": Round,
    "setting": Setting,
    "transcript": Transcript,
    "insight": Insight,
    "run": RunRecord,
}


_Readers = Mapping[str, Callable[[str | bytes], object]]
"""What reads the data of a kind of lines by native code; its result is None for what has to be read by `codec`."""
_QUICKLY: _Readers = {"round": read_round, "setting": read_whole_setting, "transcript": read_transcript}
_SHOWN_QUICKLY: _Readers = {**_QUICKLY, "run": read_record}


def _value(line: Line, texts: KeptTexts, damage: Damage, quickly: _Readers) -> object | None:
    """Return what a line holds, True for a line of an unknown kind, and None for a torn one."""
    number, name, raw, start = line
    kind = _TYPES.get(name)
    if kind is not None and (text := raw[start : -SEAL_LENGTH - 1] if start else sealed_data(raw)) is not None:
        if (read := quickly.get(name)) is not None and (found := read(text)) is not None:
            return found  # all of it is in the line: other fields are refused
        if b'"_texts"' not in text and b'"_steps"' not in text:
            try:
                return decode_json(kind, text)
            except (ValueError, RecursionError):
                pass  # parsed, to tell what is damaged
    event = parse(raw, number, damage)
    return None if event is None else _decoded_data(kind, event.data, texts)


def _value_in(line: str, texts: KeptTexts, damage: Damage) -> object | None:
    """Return the same as `_value` for a line that was read and checked before, and is text now."""
    sealed = sealed_text(line)
    if sealed is not None and (kind := _TYPES.get(sealed[0])) is not None:
        name, text = sealed
        if (read := _QUICKLY.get(name)) is not None and (found := read(text)) is not None:
            return found
        if '"_texts"' not in text and '"_steps"' not in text:
            try:
                return decode_json(kind, text)
            except (ValueError, RecursionError):
                pass  # parsed, to tell what is damaged
    event = parse(line, 0, damage)
    return None if event is None else _decoded_data(_TYPES.get(event.kind), event.data, texts)


def _decoded_data(kind: type[object] | None, data: dict[str, Any], texts: KeptTexts) -> object:
    if kind is None:
        return True
    return decode(kind, restore_texts(texts, data) if "_texts" in data or "_steps" in data else data)
