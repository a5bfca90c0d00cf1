"""Reads runs from a journal, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viva.journal.conversation_lines import CONVERSATION, ConversationLines, Line, gather_runs, read_conversation_lines
from viva.journal.lines import HEAD, Damage, parse, raw_lines, see_runs
from viva.journal.long_texts import KeptTexts, restore_texts
from viva.journal.round_tally import RoundTally, number_of
from viva.records.codec import decode
from viva.records.run_record import Outcome, RunRecord, Setting, as_earned
from viva.records.transcript import NO_USAGE, Round, Transcript, Usage
from viva.records.usage import summed_by_role
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
    folder: Path, run: str | None = None, damage: Damage | None = None, *, keep_lines: bool = False
) -> Iterator[StoredRun]:
    """Yield the runs of a journal in the order in which they ended, unfinished runs last.

    Memory use grows with the number of runs that were in progress at the same time, and by a few bytes for each run.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read; None for all.
        damage: Counts the lines that had to be skipped.
        keep_lines: Whether to include the raw lines, for copying them into another journal.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    damage = damage if damage is not None else Damage()
    for name, gathered in gather_runs(folder, run, damage, check_all=True):
        yield _decode(folder, name, gathered.attempt, gathered.lines, damage, keep_lines)


def decode_run(lines: ConversationLines, damage: Damage | None = None) -> StoredRun:
    """Decode a run from its lines; the result is the same as from `read_runs`.

    Args:
        lines: Lines from `read_conversation_lines`, of this or another process. Long texts are read from its folder.
        damage: Counts the lines that cannot be decoded, without their numbers.
    """
    found = []
    damage = damage if damage is not None else Damage()
    for text in (*lines.lines, *lines.judged):
        event = parse(text, 0, damage)
        if event is not None:
            found.append(Line(0, event.kind, b"", event.data))
    return _decode(Path(lines.folder), lines.run, lines.attempt, found, damage, False)


def read_records(folder: Path, damage: Damage | None = None) -> Iterator[RunRecord]:
    """Yield the newest record of each run that ended, in the order in which they ended; transcripts are not read.

    Its usage is that of the whole run: what earlier attempts cost was paid for, too, and so were earlier judgings.

    Args:
        folder: The journal's folder.
        damage: Counts records that had to be skipped, and lines of an unrecognizable kind.

    Raises:
        JournalError: there is no journal.
    """
    damage = damage if damage is not None else Damage()
    newest: dict[str, int] = {}
    replaced: set[int] = set()
    earlier: dict[str, dict[int, Mapping[str, Usage]]] = {}
    for number, _, line in raw_lines(folder):
        head = HEAD.match(line)
        if (head is None or head[1] == b"run") and (event := parse(line, number, damage)) and event.kind == "run":
            if event.run in newest:
                replaced.add(newest[event.run])
            newest[event.run] = number
            see_runs(folder, len(newest))
    wanted = set(newest.values())
    for number, _, line in raw_lines(folder):
        if number in replaced and (event := parse(line)) is not None:
            with suppress(ValueError):
                usage = decode(_Paid, {"usage": event.data.get("usage") or {}}).usage
                _add_paid(earlier.setdefault(event.run, {}), event.attempt, usage)
        if number in wanted and (event := parse(line)) is not None:
            try:
                record = as_earned(decode(RunRecord, restore_texts(folder, event.data)))
            except ValueError:
                damage.add(number)
                continue
            if (paid := earlier.pop(record.id, None)) is not None:
                _add_paid(paid, event.attempt, record.usage)
                record = replace(record, usage=summed_by_role(paid.values()))
            yield record


@dataclass(frozen=True, slots=True)
class _Paid:
    usage: Mapping[str, Usage] = field(default_factory=dict)


def _add_paid(paid: dict[int, Mapping[str, Usage]], attempt: int, usage: Mapping[str, Usage]) -> None:
    """Add one record. A further one of the same attempt is a further judging of the same conversation."""
    judged = paid.get(attempt, {}).get("judge")
    paid[attempt] = usage if judged is None else {**usage, "judge": judged + usage.get("judge", NO_USAGE)}


def _decode(folder: Path, run: str, attempt: int, lines: Iterable[Line], damage: Damage, keep_lines: bool) -> StoredRun:
    decoded, texts = _Decoded(), KeptTexts(folder)
    kept = []
    for line in lines:
        data = line.data
        if data is None:
            event = parse(line.raw, line.number, damage)
            if event is None:
                continue
            data = event.data
        try:
            _take(decoded, line.kind, data, texts)
        except ValueError:
            damage.add(line.number)
            continue
        if keep_lines and line.kind in CONVERSATION:
            kept.append(line.raw.removesuffix(b"\n") + b"\n")
    ending = decoded.transcript
    # The event holds everything except the rounds, which were saved one by one before it.
    rounds = tuple(decoded.rounds[number] for number in sorted(decoded.rounds))
    transcript, gap = replace(ending or Transcript(), rounds=rounds, round_count=None), _gap(rounds, ending)
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
        b"".join(kept),
    )


def _gap(rounds: tuple[Round, ...], ending: Transcript | None) -> str | None:
    tally = RoundTally()
    for round_ in rounds:
        tally.see(round_.number)
    return tally.gap(number_of(ending.round_count, least=0) if ending is not None else None)


def _take(decoded: _Decoded, kind: str, data: dict[str, Any], texts: KeptTexts) -> None:
    if "_texts" in data or "_steps" in data:
        data = restore_texts(texts, data)
    if kind == "round":
        round_ = decode(Round, data)
        # An import that was killed writes its rounds again.
        decoded.rounds.setdefault(round_.number, round_)
    elif kind == "setting":
        decoded.setting = decode(Setting, data)
    elif kind == "transcript":
        decoded.transcript = decode(Transcript, data)
    elif kind == "insight":
        insight = decode(Insight, data)
        decoded.insights[insight.evaluator, insight.subject] = insight
    elif kind == "run":
        decoded.record = decode(RunRecord, data)
