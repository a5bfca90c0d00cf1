"""Reads how far each run in a journal has progressed, and prepares stored runs to be judged again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.exam.judging.stored_facts import UNTOLD, evaluators_in, quick_event, unfair_attempts_in
from viva.exam.judging.unfair import UnfairAttempt
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.journal.lines import HEAD, REPEAT, Event, parse, raw_lines, round_number, see_runs
from viva.journal.lines import REQUEUE as REQUEUE
from viva.journal.reader import StoredRun, read_runs
from viva.journal.tallies.repeat_requests import RepeatRequests
from viva.journal.tallies.round_tally import RoundTally, number_of
from viva.journal.writer import Damage, JournalError, JournalWriter
from viva.records.copies import changed
from viva.records.fault import Fault
from viva.records.run_record import Outcome, Setting, Timing
from viva.records.text import storable
from viva.records.transcript import LIVE, Transcript, is_ended
from viva.records.unfair_attempts import sound_attempts

REQUEUED_AFTER = (Outcome.INFRA_ERROR, Outcome.TARGET_ERROR)
"""The outcomes after which a run can be requeued."""
EVERY = "every"
"""The field of such an event that says that every run of the journal is repeated, whatever its outcome. In older
journals, each run has one, and the last ones are missing if their writing was cut off."""


@dataclass(slots=True)
class RunState:
    """How far the newest attempt of a run has progressed; small, because a journal may hold many runs."""

    attempt: int
    case: str = ""
    case_hash: str = ""
    """Empty for a recording without a case."""
    agent: str = ""
    trial: int = 1
    recording_digest: str = ""
    """The digest of the recorded transcript as it was imported; empty for a live exam."""
    agent_digest: str = ""
    """The digest of the agent's file; empty if it had none, and in older journals."""
    evaluators: tuple[str, ...] = ()
    """Names of the evaluators that judged it, with their parameters, the primary first; empty in older journals, which
    have no names."""
    ended: bool = False
    """Whether the conversation ended."""
    broken: bool = False
    """Whether the conversation broke off because the examiner or a provider failed, so that it was not a fair exam."""
    recorded: bool = False
    """Whether the run was imported from a recording."""
    live: bool = False
    """Whether Viva held the conversation, which it can do again."""
    outcome: Outcome | None = None
    """None until there is a record."""
    unfair: tuple[UnfairAttempt, ...] = ()
    """The attempts so far in which the examiner was at fault, as the newest record names them; none of those before
    every run was repeated."""
    requeued: tuple[str, ...] = ()
    """The outcomes of the attempts before this one, or of this one, after which the user had this run done again."""
    again: bool = False
    """Whether the run is to be done again, from its first message."""
    rounds: RoundTally = field(default_factory=RoundTally)
    """The rounds that were found."""
    count: int | None = None
    """The number of rounds at the end, if it is known."""

    @property
    def gap(self) -> str | None:
        """Return which rounds are missing, in words; None if the conversation is whole."""
        return self.rounds.gap(self.count)

    @property
    def whole(self) -> bool:
        """Return whether the conversation ended and has all of its rounds: only then can it be judged."""
        return self.ended and self.gap is None

    @property
    def finished(self) -> bool:
        """Return whether the run has a record."""
        return self.outcome is not None


def read_run_states(folder: Path, run: str | None = None, damage: Damage | None = None) -> dict[str, RunState]:
    """Return the state of every run in a journal, or of one run, by run id. What was said is not decoded.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read.
        damage: Counts the lines that could not be read.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    if run is not None:
        next(read_runs(folder, run))
    states: dict[str, RunState] = {}
    names: dict[object, object] = {}
    requests: RepeatRequests[str] = RepeatRequests()
    for number, _, line in raw_lines(folder):
        event, round_ = None, None
        if (head := HEAD.match(line)) is not None and head[1] in (b"round", b"insight"):
            name, attempt = head[2].decode(), int(head[3])
            round_ = round_number(line, head, number, damage) if head[1] == b"round" else None
            if round_ is None:
                continue
        elif (event := quick_event(line, head) or parse(line, number, damage)) is not None:
            name, attempt = event.run, event.attempt
        else:
            continue
        if run in (None, name):
            state = states.get(name)
            if state is None or attempt > state.attempt:
                state = states[name] = _further(state, attempt, chosen=not requests.is_open_to_all(name))
                requests.begin(name)
                see_runs(folder, len(states))
            if attempt == state.attempt:
                _note(state, event, round_, names, requests)
        if event is not None and event.kind == REPEAT:
            requests.request_all()
    for name, state in states.items() if requests else ():
        state.again = requests.is_open(name)
        if requests.is_open_to_all(name):
            state.unfair = ()
    return states


def _further(state: RunState | None, attempt: int, *, chosen: bool) -> RunState:
    """Return the state of a further attempt, with what is known of those before.

    If not this run was chosen, but every run is repeated, the exams before are those of the suite before.
    """
    if state is None:
        return RunState(attempt)
    return RunState(attempt, unfair=state.unfair if chosen else (), requeued=state.requeued)


def _note(
    state: RunState,
    event: Event | None,
    round_: int | None,
    names: dict[object, object],
    requests: RepeatRequests[str],
) -> None:
    """Update the state of a run from one line; `names` holds each text once, to save memory."""
    if event is None or event.kind == "round":
        number = round_ if event is None else number_of(event.data.get("number"))
        if number is not None:
            state.rounds.see(number)
    elif event.kind == "setting":
        for name in ("case", "case_hash", "agent", "agent_digest", "recording_digest"):
            text = str(event.data.get(name) or "")
            setattr(state, name, names.setdefault(text, text))
        state.recorded = bool(event.data.get("source"))
        state.requeued = _longer(event.data.get("requeued"), state.requeued)
        state.trial = number_of(event.data.get("trial")) or 1
        state.unfair = sound_attempts(event.data.get(UNTOLD)) or state.unfair
        evaluators = evaluators_in(event.data)
        state.evaluators = names.setdefault(evaluators, evaluators)  # type: ignore[assignment]
    elif event.kind == "transcript":
        state.ended = is_ended(event.data.get("source"), event.data.get("stop"))
        state.live = event.data.get("source") in (None, LIVE)
        state.broken = state.live and event.data.get("fault") in (Fault.EXAMINER, Fault.INFRA)
        state.count = number_of(event.data.get("round_count"), least=0)
    elif event.kind == "run":
        outcome = event.data.get("outcome")
        state.outcome = Outcome(outcome) if isinstance(outcome, str) else None
        state.unfair = unfair_attempts_in(event.data)
    elif event.kind == REQUEUE and not requests.is_open(event.run):
        if event.data.get(EVERY) is True:
            requests.request(event.run)
            state.unfair = ()
        elif state.outcome in REQUEUED_AFTER:
            # By what the record says, and not this line.
            requests.request(event.run)
            state.requeued = (*state.requeued, str.__str__(state.outcome))


def _longer(past: object, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the earlier outcomes that a setting names, if it names more than are known."""
    named = tuple(map(str, past)) if isinstance(past, list | tuple) else ()
    return named if len(named) > len(known) else known


def read_states_to_resume(folder: Path, damage: Damage | None = None) -> dict[str, RunState]:
    """Return the state of every run in a journal that is to be continued. Call this under the journal's lock.

    Raises:
        JournalError: there is no journal, or a newer version of Viva wrote to it: this version cannot read those lines,
            and would repeat the runs that they finished.
    """
    damage = damage if damage is not None else Damage()
    states = read_run_states(folder, damage=damage)
    if damage.unknown:
        raise JournalError(
            f"{folder} cannot be resumed: a newer version of Viva has written to it ({damage.words()}). "
            "Use that version, or start a new journal."
        )
    return states


def carry_over(
    stored: StoredRun, lines: bytes, journal: JournalWriter, setting: Setting, workspace: Path | None
) -> tuple[StoredRun, Path | None]:
    """Copy a conversation and the agent's files into another journal, where it will be judged.

    Args:
        stored: The stored run.
        lines: Its lines in the old journal; empty if they were copied before.
        journal: The new journal.
        setting: The setting in the new journal, without the workspace.
        workspace: The agent's files; both journals share them by hard links where possible.

    Returns:
        The run in the new journal, and the folder with the files to judge.

    Raises:
        JournalError: the new journal cannot be written.
    """
    name, left_out = None, setting.workspace_left_out
    if workspace is not None:
        name = workspace_name(stored.id)
        left_out = keep_workspace(workspace, journal.folder, name, link=True) or ""
        name, workspace = (None, workspace) if left_out else (name, journal.folder / name)
    left_out = storable(left_out)
    if (name, left_out) != (setting.workspace, setting.workspace_left_out):
        setting = replace(setting, workspace=name, workspace_left_out=left_out)
    journal.copy_lines(lines, stored.folder, (stored.id, stored.attempt, [("setting", setting)]))
    return changed(stored, folder=journal.folder, setting=setting), workspace


def timing_of_rounds(transcript: Transcript) -> Timing:
    """Return the timing of a conversation as derived from its rounds."""
    rounds = transcript.rounds
    seconds = sum(round_.examiner_seconds + round_.agent_seconds for round_ in rounds)
    # The earlier turns in a trace have no times.
    return Timing(next((round_.started for round_ in rounds if round_.started is not None), 0.0), seconds)
