"""Reads the setting and the record of a stored run as far as judging uses them; the conversation is not decoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.exam.judging.unfair import UnfairAttempt, attempts_so_far
from viva.exam.subscribers import RunHeader
from viva.journal.conversation_lines import ConversationLines
from viva.journal.lines import Event, parse, sealed_data, sealed_text
from viva.journal.writer import run_id
from viva.records.codec import decode
from viva.records.quick.readers import read_record_facts, read_whole_setting
from viva.records.quick.records import read_record, read_setting
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.unfair_attempts import EARLIER

UNFAIR_ATTEMPTS = " unfair"
"""The key of the attempts in the facts of a record; no line has it."""
UNTOLD = "unfair_attempts"
"""The field of a setting with the unfair attempts that no insight names."""
_EARLIER, _UNTOLD = f'"{EARLIER}"', f'"{UNTOLD}"'
"""How a record names the unfair attempts before its own. Within a text, its quotation marks would be escaped."""
MOST_TRIALS = 1000
"""Maximum trial number that is tried to find the trial of a run id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFacts:
    """What judging a run again requires from its setting and record."""

    subject: str
    agent: str
    case_hash: str
    recorded: bool
    """Whether the run was imported from a recording."""
    evaluators: tuple[str, ...]
    agent_version: str | None
    trial: int
    tags: tuple[str, ...]
    timing: Timing | None
    """The timing of the conversation alone; None if there is no record."""

    def header(self, lines: ConversationLines) -> RunHeader:
        """Return the header of a run that is judged again."""
        return RunHeader(
            id=lines.run,
            subject=self.subject,
            agent=self.agent,
            agent_version=self.agent_version,
            trial=self.trial,
            attempt=lines.attempt,
            tags=self.tags,
        )


def facts_of(lines: ConversationLines) -> StoredFacts:
    """Read a run's setting and record only; the conversation is decoded when it is judged."""
    setting = _newest(lines.lines, "setting", _setting_facts)
    record = _newest(lines.judged, "run", _record_facts)
    case, agent = str(setting.get("case") or ""), str(setting.get("agent") or "")
    trial = (record or setting).get("trial", 1 if record else None)
    version, tags = (record or setting).get("agent_version"), record.get("tags")
    return StoredFacts(
        subject=str(record.get("subject") or case),
        agent=agent,
        case_hash=str(setting.get("case_hash") or ""),
        recorded=bool(setting.get("source")),
        evaluators=evaluators_in(setting),
        agent_version=version if isinstance(version, str) else None,
        trial=trial if type(trial) is int else _trial_of(lines.run, case, agent),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        timing=_conversation_timing(record) if record else None,
    )


def _setting_facts(text: str | bytes) -> dict[str, Any] | None:
    """Return the data of a setting as far as judging uses it; None if it has to be parsed."""
    setting = read_whole_setting(text) if isinstance(text, str) else read_setting(text)
    if setting is None or setting.unfair_attempts:
        return None
    return {
        "case": setting.case,
        "agent": setting.agent,
        "case_hash": setting.case_hash,
        "source": setting.source,
        "recording_digest": setting.recording_digest,
        "trial": setting.trial,
        "agent_digest": setting.agent_digest,
        "agent_version": setting.agent_version,
        "requeued": setting.requeued,
        "evaluators": list(setting.evaluators),
        "evaluator_parameters": setting.evaluator_parameters,
    }


def _record_facts(text: str | bytes) -> dict[str, Any] | None:
    """Return the data of a record as far as judging uses it; None if it has to be parsed."""
    record = read_record_facts(text)
    if record is None:
        return None
    unfair: tuple[UnfairAttempt, ...] = ()
    # Few records have any, and reading a whole one takes many times as long.
    if isinstance(text, str):
        named = _EARLIER in text or _UNTOLD in text
    else:
        named = _EARLIER.encode() in text or _UNTOLD.encode() in text
    if named or record.outcome is Outcome.EXAMINER_ERROR:
        if (whole := read_record(text)) is None:
            return None
        unfair = attempts_so_far(whole)
    read = record.timing  # a struct
    return {
        "subject": record.subject,
        "outcome": record.outcome,
        "trial": record.trial,
        "agent_version": record.agent_version,
        "tags": list(record.tags),
        UNFAIR_ATTEMPTS: unfair,
        "timing": Timing(read.started, read.seconds, read.examiner_seconds, read.agent_seconds, read.judge_seconds),
    }


_QUICKLY = {b"setting": _setting_facts, b"run": _record_facts}


def unfair_attempts_in(record: Mapping[str, Any]) -> tuple[UnfairAttempt, ...]:
    """Return the unfair attempts that the data of a record knows, as a line has it or `quick_event` gives it."""
    found = record.get(UNFAIR_ATTEMPTS)
    if isinstance(found, tuple):
        return found
    setting = record.get("setting")
    untold = isinstance(setting, dict) and UNTOLD in setting
    if record.get("outcome") != Outcome.EXAMINER_ERROR and not untold and not _names_earlier(record.get("insights")):
        return ()
    try:
        return attempts_so_far(decode(RunRecord, dict(record)))
    except ValueError:  # its line may be anybody's
        return ()


def _names_earlier(insights: object) -> bool:
    """Return whether an insight in the data of a record has earlier attempts in its details."""
    details = [each.get("details") for each in insights if isinstance(each, dict)] if isinstance(insights, list) else []
    return any(isinstance(each, dict) and EARLIER in each for each in details)


def quick_event(line: bytes, head: re.Match[bytes] | None) -> Event | None:
    """Return a setting or a record as far as judging uses it, without parsing it; None if it has to be parsed."""
    if head is None or (read := _QUICKLY.get(head[1])) is None or (data := sealed_data(line)) is None:
        return None
    facts = read(data)
    return None if facts is None else Event(head[1].decode(), head[2].decode(), int(head[3]), facts)


def setting_of(lines: ConversationLines) -> Setting:
    """Return a run's setting; the conversation is not decoded.

    Raises:
        ValueError: it is damaged.
    """
    return decode(Setting, dict(_newest(lines.lines, "setting", lambda _: None)))


def _newest(lines: Sequence[str], kind: str, quickly: Callable[[str], Mapping[str, Any] | None]) -> Mapping[str, Any]:
    """Return the data of the last line of this kind, or what `quickly` makes of it; empty if there is none."""
    named = f'"event":"{kind}"'
    for line in reversed(lines):
        # The head of a line names its kind; a line of another kind that contains these words is parsed needlessly.
        if named not in line[:40]:
            continue
        sealed = sealed_text(line)
        if sealed is not None and sealed[0] == kind and (facts := quickly(sealed[1])) is not None:
            return facts
        if (event := parse(line)) is not None and event.kind == kind:
            return event.data
    return {}


def evaluators_in(setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the evaluators in a setting, with their parameters: `brevity(words=3)`."""
    names, parameters = setting.get("evaluators"), setting.get("evaluator_parameters")
    known = parameters if isinstance(parameters, dict) else {}
    return tuple(
        f"{name}({known[name]})" if name in known else name
        for name in map(str, names if isinstance(names, list) else ())
    )


def _conversation_timing(record: Mapping[str, Any]) -> Timing | None:
    """Return the timing of a run without its judgement."""
    found = record.get("timing") or {}
    try:
        timing = found if isinstance(found, Timing) else decode(Timing, found)
    except ValueError:
        return None
    return Timing(
        timing.started,
        max(0.0, timing.seconds - timing.judge_seconds),
        timing.examiner_seconds,
        timing.agent_seconds,
        timing.judge_seconds,
    )


def _trial_of(run: str, case: str, agent: str) -> int:
    """Return the trial of a run without a record, derived from its id."""
    return next((trial for trial in range(1, MOST_TRIALS) if run_id(case, agent, trial) == run), 1)
