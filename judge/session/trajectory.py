"""Writes the steps of a session as text for a judge, and looks up what the judge cites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from viva.judge.quotes import Text
from viva.judge.session.shots import FINAL, Shot, Shown
from viva.judge.steps import (
    ENDED,
    NOT_RECORDED,
    origin,
    readings,
    step_text,
    surrounding_parts,
    to_text,
    visible,
    without_result,
)
from viva.judge.turns import WHOLE, Detail, ShownTurn, Source, source_of_message, step_turn
from viva.judge.view import ShownTranscript, show_turns
from viva.records.text import one_line, storable
from viva.records.trajectory import SURROUNDINGS, how_ended
from viva.records.transcript import LIVE, Round, Step, Transcript
from viva.records.verdict import Evidence

_DONE = ("action", *SURROUNDINGS, "result", "error", ENDED)
FIELDS = ("subtask", "observation", "thought", "plan", *_DONE, "comment", "application")
FACTS = ("observation", *_DONE, "application")
"""The fields that say what was seen and what happened. The others are the agent's own words, and so is all of a step
that a live agent reports: only its environment and its screenshots show what happened."""
STEP_ID_SHOWN = 60
"""Maximum number of characters of a step's id in the prompt."""
BY_PICTURE = "by-picture"
"""The flag of a verdict that rests on a screenshot: its evidence is a step with an empty quote."""
CLAIMS_ONLY = "claims-only"
"""The flag of a verdict whose evidence is nothing but what the agent thought, planned or said."""


_PLAIN_ID = re.compile(rf"(?!{FINAL})[\w.:#/-]{{1,{STEP_ID_SHOWN}}}", re.I)
"""The ids that a judge can cite as they are, and that cannot be taken for anything else in the prompt."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A session, or one round of it, that is judged."""

    id: str
    """The run's id, or the round's."""
    level: str
    """`session` or `round`."""
    transcript: Transcript
    request: str
    apis: str = ""
    """The APIs that the user of Viva names; if there are none, the transcript's tools are shown."""
    given_request: str | None = None
    """The beginning of the request that no agent can have brought about; None if that is all of it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The own ids of the steps that have other ids here, because theirs are not distinct."""


def of_session(transcript: Transcript, run: str, request: str, apis: str, given_request: str | None = None) -> Subject:
    """Return the whole session as a subject."""
    told, names = _told_apart(transcript)
    return Subject(run, "session", told, request, apis, given_request, names)


def of_round(
    transcript: Transcript, round_: Round, request: str, apis: str, given_request: str | None = None
) -> Subject:
    """Return one round as a subject: its own steps, and the pictures taken at its end."""
    last = transcript.rounds[-1] is round_
    roles = round_.attributes.get("image_roles")
    own = round_.images if not isinstance(roles, list | tuple) else [role for role in roles if role == "round_final"]
    images = transcript.images if last and not own else ()
    told, names = _told_apart(replace(transcript, rounds=(round_,), images=images))
    return Subject(round_.id, "round", told, request, apis, given_request, names)


def _told_apart(transcript: Transcript) -> tuple[Transcript, dict[str, str]]:
    """Return the transcript with new ids for steps that a judge could not cite by their own.

    An agent may begin to count again in each round, and may call a step what it likes, such as `final`. What it names
    as the step above is kept only if it is one.

    Returns:
        The transcript, and the own id of each step that has a new one.
    """
    times = Counter(step.id for round_ in transcript.rounds for step in round_.steps)
    kept = {name for name, number in times.items() if number == 1 and _PLAIN_ID.fullmatch(name)}
    names: dict[str, str] = {}
    rounds = []
    for round_ in transcript.rounds:
        new: dict[str, str] = {}
        steps = []
        for place, step in enumerate(round_.steps, 1):
            name = step.id
            if name not in kept:
                name = f"{round_.id}-{place}"
                while name in kept or name in names:
                    name += "x"
                names[name] = step.id
                new.setdefault(step.id, name)
            steps.append(replace(step, id=name, parent_id=new.get(step.parent_id or "", step.parent_id)))
        rounds.append(replace(round_, steps=tuple(steps)))
    shown = {step.id for round_ in rounds for step in round_.steps}
    rounds = [replace(each, steps=tuple(_below(step, shown) for step in each.steps)) for each in rounds]
    return replace(transcript, rounds=tuple(rounds)), names


def _below(step: Step, shown: Container[str]) -> Step:
    """Return a step without its parent if that is not a step that is shown."""
    return step if step.parent_id is None or step.parent_id in shown else replace(step, parent_id=None)


def request_of(rounds: Sequence[Round], task: str = "") -> str:
    """Return the request: what the user said in each round, after the examiner's task if it was an exam."""
    return _request([each for each in rounds if each.examiner], task, _are_several(rounds))


def given_request_of(transcript: Transcript, rounds: Sequence[Round], task: str = "") -> str:
    """Return the beginning of the request of some rounds of a transcript, without messages that the agent may have
    brought about: only the first ones are without its part."""
    given = [each for each in rounds if each.examiner and source_of_message(transcript, each) == "given"]
    return _request(given, task, _are_several(rounds))


def _are_several(rounds: Sequence[Round]) -> bool:
    return sum(bool(each.examiner) for each in rounds) > 1


def _request(asked: Sequence[Round], task: str, numbered: bool) -> str:
    words = [f"Request of round {each.number}: {each.examiner}" if numbered else each.examiner or "" for each in asked]
    return "\n".join(([f"The examiner's task: {task.strip()}"] if task.strip() else []) + words)


def show_session(subject: Subject, detail: Detail = WHOLE, marker: str | None = None) -> ShownTranscript:
    """Return the request, the APIs, the plans and the steps as delimited text."""
    # Of parts with the same name, as in a recording that repeats the number of a round, the last one is shown.
    return show_turns(list({turn.head: turn for turn in _turns(subject)}.values()), marker, detail)


def step_words(step: Step, names: Sequence[str] = FIELDS, no_result: str = NOT_RECORDED) -> str:
    """Return one step as a judge reads it, or some of its fields. UFO calls these the action trajectory."""
    told = {name: step.attributes.get(name) for name in ("subtask", "comment", "application")}
    told |= {"observation": step.observation, "thought": step.thought, "plan": step.plan}
    told |= {"action": _action(step), **dict(surrounding_parts(step)), "result": step.result, "error": step.error}
    told[ENDED] = how_ended(step)
    if told["action"] and told["result"] is None and told["error"] is None:
        told["result"] = no_result
    parts = [(name, str(told[name])) for name in names if told.get(name) not in (None, "")]
    return step_text(parts) or "(nothing is told of it)"


def _turns(subject: Subject) -> Iterator[ShownTurn]:
    request = _part("the user's request", subject.request or "(the recording does not hold it)")
    given = subject.given_request
    yield request if given is None else replace(request, by="asked", given=len(visible(given)))
    transcript = subject.transcript
    if apis := subject.apis or "\n".join(to_text(dict(tool)) for tool in transcript.tools):
        by_case = bool(subject.apis) or transcript.source == LIVE
        yield _part("the APIs that the agent could use", apis, "given" if by_case else "asked")
    no_result = without_result(transcript)
    for round_ in transcript.rounds:
        if len(transcript.rounds) > 1 and round_.examiner is not None:
            by = source_of_message(transcript, round_)
            yield _part(f"round {round_.number}, the user", round_.examiner, by)
        for name in ("plan", "subtasks"):
            if told := round_.attributes.get(name):
                words = "\n".join(map(str, told)) if isinstance(told, list | tuple) else str(told)
                yield _part(f"round {round_.number}, the {name} of the host", words, "said")
        for step in round_.steps:
            head = f"[round {round_.number}, {_head(step, transcript)}]"
            yield step_turn(step, head, visible(step_words(step, no_result=no_result)))
        if round_.agent is not None:
            yield _part(f"round {round_.number}, the agent's words at the end", round_.agent, "said")
        if round_.error is not None:
            yield _part(f"round {round_.number}, how the agent failed, not in its own words", round_.error, "said")


def _part(name: str, words: str, by: Source = "given") -> ShownTurn:
    return ShownTurn(f"[{name}]", visible(words) or "(nothing)", by)


def _head(step: Step, transcript: Transcript) -> str:
    """Return the id of a step, the step above it and, in an exam, who recorded it."""
    below = f", below step {one_line(step.parent_id, STEP_ID_SHOWN)}" if step.parent_id else ""
    by = f", {origin(transcript, step)}" if transcript.source == LIVE or step.from_environment else ""
    return f"step {one_line(step.id, STEP_ID_SHOWN)}{below}{by}"


def _action(step: Step) -> str | None:
    if step.tool is None:
        return to_text(step.tool_input) if step.tool_input not in (None, {}, "") else None
    given = step.tool_input if isinstance(step.tool_input, str) else to_text(step.tool_input)
    control = step.attributes.get("action")
    target = control.get("target") if isinstance(control, dict) else None
    on = f" on {to_text(target)}" if target else ""
    return f"{step.tool}({given}){on}"


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """The evidence that was found for a judge's citations."""

    evidence: tuple[Evidence, ...] = ()
    by_picture: bool = False
    claims_only: bool = False
    """Whether all of the evidence is what the agent said about itself."""
    lost: tuple[str, ...] = ()
    """Descriptions of the citations that were not found."""


class Citations:
    """Looks up what a judge cites: words in a step, or the screenshot of a step if it was shown."""

    def __init__(self, subject: Subject, shown: Shown) -> None:
        steps = [step for round_ in subject.transcript.rounds for step in round_.steps]
        live, no_result = subject.transcript.source == LIVE, without_result(subject.transcript)
        self._texts = {step.id: readings(step_words(step, no_result=no_result)) for step in steps}
        recorded = [step for step in steps if step.from_environment or not live]
        self._facts = {step.id: readings(step_words(step, FACTS, no_result)) for step in recorded}
        self._parents = {step.id: step.parent_id for step in steps if step.parent_id}
        self._said = {each.id: readings(each.agent) for each in subject.transcript.rounds if each.agent}
        self._names = subject.names
        self._shown = {shot.step: shot for shot in shown.shots}

    def look_up(self, cited: Sequence[tuple[str, str]]) -> FoundEvidence:
        """Look up pairs of a step and a quote. An empty quote cites the step's screenshot."""
        evidence: list[Evidence] = []
        lost: list[str] = []
        by_picture = facts = False
        for name, quote in cited:
            step = _plain(name)
            if not quote.strip():
                shot = self._shot(step)
                if shot is None:
                    lost.append(f"no screenshot of step {one_line(name, 60)!r} was shown")
                    continue
                by_picture = True
                evidence.append(Evidence(shot.after if shot.step == FINAL else self._own(step), ""))
                continue
            where = self._where(step, quote)
            if where is None:
                lost.append(f"these words are not in step {one_line(step, 60)!r}: {one_line(quote, 120)!r}")
            else:
                facts = facts or self._is_fact(where, quote)
                evidence.append(Evidence(self._own(where), storable(quote.strip())))
        kept = tuple(dict.fromkeys(evidence))
        return FoundEvidence(kept, by_picture, bool(kept) and not by_picture and not facts, tuple(lost))

    def _own(self, step: str) -> str:
        return self._names.get(step, step)

    def _is_fact(self, step: str, quote: str) -> bool:
        return _holds(self._facts.get(step, ()), quote)

    def _shot(self, step: str) -> Shot | None:
        found = self._shown.get(step)
        return found if found is not None else self._shown.get(self._parents.get(step, ""))

    def _where(self, step: str, quote: str) -> str | None:
        """Return the step or round that holds the quote: the step that the judge cites, or for `final`, any last words.

        A quote from another step is not found: nearly all steps have results such as "done".
        """
        if step == FINAL:
            return next((each for each, forms in self._said.items() if _holds(forms, quote)), None)
        return step if _holds(self._texts.get(step, ()), quote) else None


def _holds(forms: tuple[Text, ...], quote: str) -> bool:
    return any(text.find(quote) for text in forms)


def _plain(name: str) -> str:
    """Return the step id that a judge means by `step 3`, `Step 3` or `final screenshot`."""
    words = name.strip()
    if words.lower().startswith("step "):
        words = words[5:].strip()
    return FINAL if words.lower().startswith(FINAL) else words
