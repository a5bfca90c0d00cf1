"""Reads runs back out of a journal, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from records.codec import decode
from records.journal import HEAD, Damage, Event, JournalError, parse, raw_lines
from records.long_texts import restore_texts
from records.run_record import RunRecord, Setting
from records.transcript import Round, StopReason, Transcript
from records.verdict import Insight


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a journal holds of one run: its newest attempt."""

    folder: Path
    """The journal's folder."""
    id: str
    attempt: int
    setting: Setting
    transcript: Transcript
    """Its `stop` is None where the conversation did not end."""
    ended: bool
    """Whether the conversation came to its end; if not, the rounds are those that were saved before it broke off."""
    insights: tuple[Insight, ...]
    record: RunRecord | None
    """None where the run did not end."""
    lines: bytes = b""
    """The lines of setting, rounds and transcript as they stand, for copying."""


@dataclass(slots=True)
class _Gathered:
    attempt: int
    setting: Setting = field(default_factory=Setting)
    rounds: list[Round] = field(default_factory=list)
    transcript: Transcript | None = None
    insights: dict[str, Insight] = field(default_factory=dict)
    record: RunRecord | None = None
    lines: list[bytes] = field(default_factory=list)


def split_reference(reference: str) -> tuple[Path, str | None]:
    """`FOLDER` or `FOLDER#RUN-ID` as (folder, run id)."""
    path, mark, run = reference.rpartition("#")
    if mark and not Path(reference).exists():
        return Path(path), run
    return Path(reference), None


def read_runs(
    folder: Path, run: str | None = None, damage: Damage | None = None, *, keep_lines: bool = False
) -> Iterator[StoredRun]:
    """The runs of a journal in the order in which they ended, unfinished ones last.

    Memory grows with the runs that were under way at once, and by a few bytes for each run.

    Args:
        folder: The journal's folder.
        run: Only this run.
        damage: Counts the lines that had to be skipped.
        keep_lines: Also hand out the raw lines, for copying them into another journal.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    last, end = _last_lines(folder, run)
    if run is not None and run not in last:
        raise JournalError(f"{folder} holds no run {run!r}.{_known(_last_lines(folder, None)[0])}")
    open_runs: dict[str, _Gathered] = {}
    damage = damage if damage is not None else Damage()
    for number, _, line in raw_lines(folder):
        if number > end:
            # Another process appends while this one reads: what came after the first look is for the next reader.
            break
        event = parse(line, number, damage)
        if event is None or event.run not in last:
            continue
        gathered = open_runs.get(event.run)
        if gathered is None or event.attempt > gathered.attempt:
            gathered = open_runs[event.run] = _Gathered(event.attempt)
        if event.attempt == gathered.attempt:
            try:
                _take(gathered, event, folder)
            except ValueError:
                damage.add(number)
                continue
            if keep_lines and event.kind in ("setting", "round", "transcript"):
                gathered.lines.append(line if line.endswith(b"\n") else line + b"\n")
        if number == last[event.run]:
            yield _finish(folder, event.run, open_runs.pop(event.run))
    # Only a run whose very last line is torn is left here.
    for name, gathered in open_runs.items():
        yield _finish(folder, name, gathered)


def read_records(folder: Path, damage: Damage | None = None) -> Iterator[RunRecord]:
    """The newest record of each run that ended, in the order of their ends; transcripts are not read.

    Args:
        folder: The journal's folder.
        damage: Counts records that had to be skipped, and lines of which not even the kind can be told.

    Raises:
        JournalError: there is no journal.
    """
    damage = damage if damage is not None else Damage()
    newest: dict[str, int] = {}
    for number, _, line in raw_lines(folder):
        head = HEAD.match(line)
        if (head is None or head[1] == b"run") and (event := parse(line, number, damage)) and event.kind == "run":
            newest[event.run] = number
    wanted = set(newest.values())
    for number, _, line in raw_lines(folder):
        if number in wanted and (event := parse(line)) is not None:
            try:
                record = decode(RunRecord, restore_texts(folder, event.data))
            except ValueError:
                damage.add(number)
                continue
            yield record


def _last_lines(folder: Path, run: str | None) -> tuple[dict[str, int], int]:
    """The number of each run's last line, torn ones included whose head is whole; and that of the file's last line."""
    last: dict[str, int] = {}
    end = 0
    for number, _, line in raw_lines(folder):
        end = number
        if (head := HEAD.match(line)) is not None:
            name = head[2].decode()
        elif (event := parse(line)) is not None:
            name = event.run
        else:
            continue
        if run is None or name == run:
            last[name] = number
    return last, end


def _take(gathered: _Gathered, event: Event, folder: Path) -> None:
    data = restore_texts(folder, event.data) if "_texts" in event.data else event.data
    if event.kind == "round":
        round_ = decode(Round, data)
        if not gathered.rounds or round_.number > gathered.rounds[-1].number:
            gathered.rounds.append(round_)
    elif event.kind == "setting":
        gathered.setting = decode(Setting, data)
    elif event.kind == "transcript":
        gathered.transcript = decode(Transcript, data)
    elif event.kind == "insight":
        insight = decode(Insight, data)
        gathered.insights[insight.evaluator] = insight
    elif event.kind == "run":
        gathered.record = decode(RunRecord, data)


def _finish(folder: Path, run: str, gathered: _Gathered) -> StoredRun:
    ending = gathered.transcript
    if ending is None:
        transcript = Transcript(rounds=tuple(gathered.rounds))
    else:
        # The event holds everything but the rounds, which were saved one by one before it.
        names = [name for name in Transcript.__dataclass_fields__ if name != "rounds"]
        transcript = Transcript(tuple(gathered.rounds), **{name: getattr(ending, name) for name in names})
    return StoredRun(
        folder,
        run,
        gathered.attempt,
        gathered.setting,
        transcript,
        ending is not None and ending.stop is not StopReason.CANCELLED,
        tuple(gathered.insights.values()),
        gathered.record,
        b"".join(gathered.lines),
    )


def _known(last: dict[str, int]) -> str:
    if not last:
        return " The journal is empty."
    names = list(last)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f" It has: {', '.join(names[:5])}{more}."
