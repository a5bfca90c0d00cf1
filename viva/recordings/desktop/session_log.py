"""Puts the lines of a session's log together: rounds with steps, plans and pictures, and notes about what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viva.recordings.desktop.lines import LineFields, text_of
from viva.recordings.desktop.names import Names
from viva.recordings.desktop.screenshots import Screenshots
from viva.recordings.desktop.steps import steps_of, usage_of
from viva.recordings.recording import Recording
from viva.records.transcript import NO_USAGE, Round, Step, StopReason, Transcript, Usage

SOURCE = "ufo"
FINISHED = "FINISH"
"""The status of the last step of a session that ended as planned."""


@dataclass(slots=True)
class _LogRound:
    """A round whose lines are being read."""

    number: int
    """The number in the log."""
    request: str | None = None
    said: str | None = None
    steps: list[Step] = field(default_factory=list)
    host: list[dict[str, Any]] = field(default_factory=list)
    plan: list[str] | None = None
    subtasks: list[str] = field(default_factory=list)
    usage: Usage = NO_USAGE


class SessionLog:
    """The lines of one log, taken in order."""

    def __init__(self, folder: Path, names: Names, lines: Sequence[Mapping[str, Any]]) -> None:
        """Args:
        folder: The session's folder.
        names: What its log calls things.
        lines: All lines, of which the numbers of the steps are known in advance.
        """
        self._folder, self._names = folder, names
        fields = (LineFields(line, names) for line in lines)
        self._given = {str(each.number("step")) for each in fields if self._is_step(each)}
        """The numbers that the log itself gives to steps."""
        self._shots = Screenshots(folder / names.screenshots, names)
        self._rounds: dict[int, _LogRound] = {}
        self._last = names.first_round
        self._ids: set[str] = set()
        self._again: Counter[str] = Counter()
        """Maps each number of a step to the suffix that was tried last."""
        self._status: str | None = None
        self._others: dict[str, int] = {}
        self._unknown: list[dict[str, Any]] = []

    def take(self, line: LineFields) -> None:
        """Read one more line."""
        if not line.is_known:
            # It may be anything, such as a heading, and neither begins a round nor has a step's number.
            self._unknown.append(line.rest)
            return
        kind = text_of(line.take("agent_type")) or ""
        number = line.number("round")
        self._last = self._last if number is None else number
        draft = self._rounds.setdefault(self._last, _LogRound(self._last))
        request = line.text("request")
        draft.request = draft.request or request or self._names.asked
        if kind in self._names.plans_of:
            self._plan(draft, line)
        elif self._is_step(line):
            step = line.number("step")
            taken = steps_of(self._identity(step), line, self._shots.of_step(line, step, self._last), self._names)
            if request not in (None, draft.request):
                taken[0] = replace(taken[0], attributes={**taken[0].attributes, "request": request})
            draft.steps += taken
            draft.said = taken[0].attributes.get("comment") or draft.said
            self._status = taken[0].attributes.get("status") or self._status
        elif self._names.steps_of is None:
            draft.host += [rest] if (rest := line.rest) else []
        else:
            self._others[kind] = self._others.get(kind, 0) + 1
            draft.host.append(line.rest)

    def _is_step(self, line: LineFields) -> bool:
        kind = text_of(line.take("agent_type")) or ""
        if self._names.steps_of is None:
            return kind not in self._names.plans_of and line.is_about_a_step
        return kind in self._names.steps_of

    def recording(self, broken: list[int]) -> Recording:
        """Return what the lines say, with the numbers of the broken ones noted."""
        final = self._shots.final(expected=any(draft.steps for draft in self._rounds.values()))
        rounds = tuple(self._round(number, draft) for number, draft in enumerate(self._rounds.values(), 1))
        finished = (self._status or "").upper() == FINISHED
        details, notes = self._notes(broken)
        transcript = Transcript(
            rounds,
            source=SOURCE,
            trace_id=self._key,
            images=final.names,
            stop=StopReason.FINISHED if finished else None,
            stop_detail=None if finished or not self._status else f"the status of the last step is {self._status}",
            notes=tuple(details),
            attributes=final.attributes | ({"log": self._unknown} if self._unknown else {}),
        )
        return Recording(
            transcript,
            place=str(self._folder),
            run_key=self._key,
            subject=self._key,
            agent=self._names.agent,
            pictures=self._folder / self._names.screenshots,
            notes=tuple(notes),
            lost=(f"broken lines of {self._folder / self._names.log}: {len(broken)}",) if broken else (),
        )

    @property
    def _key(self) -> str:
        return self._folder.resolve().name or "session"

    def _identity(self, step: int | None) -> str:
        """Return the id of a step: its number in the log, or else its position, with a suffix if it occurs again."""
        name = base = str(len(self._ids) + 1 if step is None else step)
        while name in self._ids or (step is None and name in self._given):
            self._again[base] += 1
            name = f"{base}-{self._again[base] + 1}"
        self._ids.add(name)
        return name

    def _plan(self, draft: _LogRound, line: LineFields) -> None:
        """Read a line of the HostAgent. Its cost counts as the round's."""
        told = {
            name: line.take(name) for name in ("step", "subtask", "observation", "thought", "plan", "comment", "status")
        }
        told["message"] = line.take("message")
        draft.usage += usage_of(line)
        draft.subtasks += [words] if (words := text_of(told["subtask"])) else []
        if words := text_of(told["plan"]):
            draft.plan = words.splitlines()
        elif told["plan"] == [] and draft.plan is None:
            draft.plan = []
        draft.said = text_of(told["comment"]) or draft.said
        told |= {"log": line.rest or None}
        draft.host.append({key: value for key, value in told.items() if value not in (None, "")})

    def _round(self, number: int, draft: _LogRound) -> Round:
        shots = self._shots.of_round(draft.number)
        attributes: dict[str, Any] = {
            "round": draft.number,
            "plan": draft.plan,
            "subtasks": draft.subtasks,
            "host": draft.host,
            **shots.attributes,
        }
        kept = {key: value for key, value in attributes.items() if value not in (None, [], {})}
        kept |= {} if draft.plan is None else {"plan": draft.plan}
        return Round(
            number,
            draft.request,
            draft.said,
            tuple(draft.steps),
            images=shots.names,
            # The host's and the steps': a figure without tokens would be taken to include what lies below it.
            usage=sum((step.usage for step in draft.steps), draft.usage),
            attributes=kept,
        )

    def _notes(self, broken: list[int]) -> tuple[list[str], list[str]]:
        """Return the faults of this session, and the same without numbers, so that equal notes can be counted."""
        details, notes = [], []
        if broken:
            shown = ", ".join(map(str, broken[:10])) + (", …" if len(broken) > 10 else "")
            which = f"line {shown} is" if len(broken) == 1 else f"{len(broken)} lines are"
            where = "" if len(broken) == 1 else f": lines {shown}"
            details.append(f"{which} broken in {self._names.log} and skipped{where}")
            notes.append(f"broken lines of {self._names.log} were skipped")
        if self._unknown:
            details.append(f"lines without any known key are not steps, and are kept in `log`: {len(self._unknown)}")
            notes.append("lines without any known key are not steps")
        for kind, times in self._others.items():
            details.append(f"lines of {kind[:60] or 'no agent'} are not steps, and are kept with their round: {times}")
            notes.append("lines of other agents are not steps")
        for fault, times in self._shots.faults.items():
            details.append(f"screenshots that {fault}: {times}")
            notes.append(f"screenshots {fault}")
        if not any(draft.steps for draft in self._rounds.values()):
            words = f"no step of {' or '.join(self._names.steps_of or ('any agent',))} is in {self._names.log}"
            details.append(words)
            notes.append(words)
        if unused := self._shots.unused:
            details.append(f"screenshots of no step in the log: {', '.join(unused[:8])}{', …' if unused[8:] else ''}")
        return details, notes
