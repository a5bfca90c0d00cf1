"""Runs that lie in a journal: how far each has come, and what judging one again takes: its files and setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.exam.kept_workspaces import keep_workspace, workspace_name
from records.codec import decode
from records.conversation_lines import ConversationLines
from records.journal import Damage, JournalError, JournalWriter, run_id
from records.journal_lines import HEAD, Event, parse, raw_lines, round_number, see_runs
from records.journal_reader import StoredRun, read_runs
from records.round_tally import RoundTally, number_of
from records.run_record import Outcome, Setting, Timing
from records.text import storable
from records.transcript import LIVE, Transcript, is_ended
from records.verdict import Fault

MOST_TRIALS = 1000
"""Trials that are tried to find out which one an id stands for."""


@dataclass(slots=True)
class RunState:
    """How far a run has come, in its newest attempt; small, because a journal may hold many."""

    attempt: int
    case: str = ""
    case_hash: str = ""
    """Empty for a recording without a case."""
    agent: str = ""
    evaluators: tuple[str, ...] = ()
    """Names of those that judged it, the primary first; none in journals that are older than their names."""
    ended: bool = False
    """Whether the conversation came to its end."""
    broken: bool = False
    """Whether the examiner or a provider broke the conversation off, so that it was no exam."""
    outcome: Outcome | None = None
    """None until there is a record."""
    rounds: RoundTally = field(default_factory=RoundTally)
    """Which rounds were found."""
    count: int | None = None
    """How many there were at the end, if it is known."""

    @property
    def gap(self) -> str | None:
        """Which rounds are missing, in words; None where the conversation is whole."""
        return self.rounds.gap(self.count)

    @property
    def whole(self) -> bool:
        """Whether the conversation came to its end, and all of its rounds are there: only then it can be judged."""
        return self.ended and self.gap is None

    @property
    def finished(self) -> bool:
        """Whether there is a record."""
        return self.outcome is not None


def read_run_states(folder: Path, run: str | None = None, damage: Damage | None = None) -> dict[str, RunState]:
    """The state of every run in a journal, or of one, by run id; what was said is not read.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    if run is not None:
        next(read_runs(folder, run))
    states: dict[str, RunState] = {}
    names: dict[object, object] = {}
    for number, _, line in raw_lines(folder):
        event, round_ = None, None
        if (head := HEAD.match(line)) is not None and head[1] in (b"round", b"insight"):
            name, attempt = head[2].decode(), int(head[3])
            round_ = round_number(line, head, number, damage) if head[1] == b"round" else None
            if round_ is None:
                continue
        elif (event := parse(line, number, damage)) is not None:
            name, attempt = event.run, event.attempt
        else:
            continue
        if run not in (None, name):
            continue
        state = states.get(name)
        if state is None or attempt > state.attempt:
            state = states[name] = RunState(attempt)
            see_runs(folder, len(states))
        if attempt == state.attempt:
            _note(state, event, round_, names)
    return states


def _note(state: RunState, event: Event | None, round_: int | None, names: dict[object, object]) -> None:
    """Note what one line tells of how far its run has come; `names` holds each text once."""
    if event is None or event.kind == "round":
        number = round_ if event is None else number_of(event.data.get("number"))
        if number is not None:
            state.rounds.see(number)
    elif event.kind == "setting":
        for name in ("case", "case_hash", "agent"):
            text = str(event.data.get(name) or "")
            setattr(state, name, names.setdefault(text, text))
        listed = event.data.get("evaluators")
        evaluators = tuple(map(str, listed)) if isinstance(listed, list) else ()
        state.evaluators = names.setdefault(evaluators, evaluators)  # type: ignore[assignment]
    elif event.kind == "transcript":
        state.ended = is_ended(event.data.get("source"), event.data.get("stop"))
        live = event.data.get("source") in (None, LIVE)
        state.broken = live and event.data.get("fault") in (Fault.EXAMINER, Fault.INFRA)
        state.count = number_of(event.data.get("round_count"), least=0)
    elif event.kind == "run":
        outcome = event.data.get("outcome")
        state.outcome = Outcome(outcome) if isinstance(outcome, str) else None


def read_states_to_resume(folder: Path, damage: Damage | None = None) -> dict[str, RunState]:
    """The same of a journal that is about to be written. Read it under the journal's lock.

    Raises:
        JournalError: there is no journal, or a newer Viva wrote in it: what its lines say is not known here, and runs
            that they finished would be held again.
    """
    damage = damage if damage is not None else Damage()
    states = read_run_states(folder, damage=damage)
    if damage.unknown:
        raise JournalError(
            f"{folder} cannot be gone on with: a newer version of Viva wrote there ({damage.words()}). "
            "Use that version, or begin a new journal."
        )
    return states


def carry_over(
    stored: StoredRun, lines: bytes, journal: JournalWriter, setting: Setting, workspace: Path | None
) -> tuple[StoredRun, Path | None]:
    """Copy a conversation and the agent's files into another journal, to be judged there.

    Args:
        stored: The run as it is stored.
        lines: Its lines there; none where they have been copied before.
        journal: The other one.
        setting: The run's there, but for its workspace.
        workspace: The agent's files, which are shared with the old journal by hard links where that is possible.

    Returns:
        The run as it is in the other journal, and the files to judge.

    Raises:
        JournalError: the disk did not take it.
    """
    name, left_out = None, setting.workspace_left_out
    if workspace is not None:
        name = workspace_name(stored.id)
        left_out = keep_workspace(workspace, journal.folder, name, link=True) or ""
        name, workspace = (None, workspace) if left_out else (name, journal.folder / name)
    setting = replace(setting, workspace=name, workspace_left_out=storable(left_out))
    journal.copy_lines(lines, stored.folder)
    journal.append("setting", stored.id, stored.attempt, setting)
    return replace(stored, folder=journal.folder, setting=setting), workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFacts:
    """What a run's setting and record say that judging it again needs."""

    subject: str
    agent: str
    case_hash: str
    evaluators: tuple[str, ...]
    agent_version: str | None
    trial: int
    tags: tuple[str, ...]
    timing: Timing | None
    """Of the conversation alone; None where there is no record."""


def facts_of(lines: ConversationLines) -> StoredFacts:
    """Read a run's setting and record, and nothing else: what was said is decoded by who judges it."""
    setting = _newest(lines.lines, "setting")
    record = _newest(lines.judged, "run")
    case, agent = str(setting.get("case") or ""), str(setting.get("agent") or "")
    trial = (record or setting).get("trial", 1 if record else None)
    version, tags = (record or setting).get("agent_version"), record.get("tags")
    evaluators = setting.get("evaluators")
    return StoredFacts(
        subject=str(record.get("subject") or case),
        agent=agent,
        case_hash=str(setting.get("case_hash") or ""),
        evaluators=tuple(map(str, evaluators)) if isinstance(evaluators, list) else (),
        agent_version=version if isinstance(version, str) else None,
        trial=trial if type(trial) is int else _trial_of(lines.run, case, agent),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        timing=_conversation_timing(record) if record else None,
    )


def timing_of_rounds(transcript: Transcript) -> Timing:
    """The time of a conversation, as far as its rounds tell."""
    rounds = transcript.rounds
    seconds = sum(round_.examiner_seconds + round_.agent_seconds for round_ in rounds)
    return Timing((rounds[0].started if rounds else None) or 0.0, seconds)


def _newest(lines: Sequence[str], kind: str) -> Mapping[str, Any]:
    """What the last of the lines of this kind says; nothing where there is none."""
    for line in reversed(lines):
        # The head of a line tells its kind; a line of another kind that holds these words is parsed for nothing.
        if f'"event":"{kind}"' in line[:40] and (event := parse(line)) is not None and event.kind == kind:
            return event.data
    return {}


def _conversation_timing(record: Mapping[str, Any]) -> Timing | None:
    """The time of a run without that of its judgement."""
    try:
        timing = decode(Timing, record.get("timing") or {})
    except ValueError:
        return None
    return replace(timing, seconds=max(0.0, timing.seconds - timing.judge_seconds))


def _trial_of(run: str, case: str, agent: str) -> int:
    """Which trial a run without a record is: its id tells."""
    return next((trial for trial in range(1, MOST_TRIALS) if run_id(case, agent, trial) == run), 1)
