"""Turns the steps of an ATIF trajectory into rounds and steps. Nothing that they hold is thrown away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.recordings.spans.messages import as_text
from viva.recordings.spans.values import read_time
from viva.records.trajectory import ANSWER, CALL_ID, MARK, UNDISPATCHED
from viva.records.transcript import NO_USAGE, UNREPORTED, Round, Step, StepKind, Usage


class StepError(ValueError):
    """An element of `steps` is not a step; the message says which and why."""


@dataclass(frozen=True, slots=True)
class ReadSteps:
    """What the steps of a trajectory say."""

    rounds: tuple[Round, ...]
    system: str | None
    notes: tuple[str, ...]


@dataclass(slots=True)
class _AtifRound:
    examiner: str | None = None
    agent: list[str] = field(default_factory=list)
    """What the agent said. Joined at the end, as a trajectory may have thousands of answers."""
    steps: list[Step] = field(default_factory=list)
    images: dict[str, None] = field(default_factory=dict)
    started: float | None = None


def read_steps(steps: Sequence[Any], model: str | None, agent: str | None) -> ReadSteps:
    """Read the steps of a trajectory.

    A user's step begins a round. An agent's step becomes one step for each tool call, or one that answers; they are
    marked as the trajectory, except what was copied from an earlier one for context. Of an agent's steps the id is `s`
    and the step's number. System steps before any other are the system text; later ones are steps of the kind `agent`.

    Args:
        steps: As the file has them.
        model: The agent's, where a step names none.
        agent: Its name.

    Raises:
        StepError: an element is not a step.
    """
    reader = _StepReader(model, agent)
    for number, step in enumerate(steps, 1):
        if not isinstance(step, Mapping) or step.get("source") not in ("system", "user", "agent"):
            found = step.get("source") if isinstance(step, Mapping) else step
            raise StepError(
                f"step {number} is not a step: its source is {found!r:.80}, and must be system, user or agent"
            )
        reader.take(number, step)
    return reader.result()


class _StepReader:
    def __init__(self, model: str | None, agent: str | None) -> None:
        self._model = model
        self._agent = agent
        self._drafts: list[_AtifRound] = []
        self._system: list[str] = []
        self._notes: dict[str, int] = {}

    def take(self, number: int, step: Mapping[str, Any]) -> None:
        text, images = _content(step.get("message"))
        began = read_time(step.get("timestamp"))
        started = None if began is None else began / 1e9
        source = step["source"]
        if source == "user":
            self._drafts.append(_AtifRound(text, images=dict.fromkeys(images), started=started))
            if step.get("observation") is not None:
                self._other(number, step, "user", None, images, started)
        elif source == "system" and not self._drafts and step.get("observation") is None:
            self._system.append(text)
        elif source == "system":
            self._other(number, step, "system", text, images, started)
        else:
            self._decide(number, step, text, images, started)

    def result(self) -> ReadSteps:
        rounds = tuple(
            Round(
                number,
                draft.examiner,
                "\n\n".join(draft.agent) if draft.agent else None,
                tuple(draft.steps),
                images=tuple(draft.images),
                started=draft.started,
            )
            for number, draft in enumerate(self._drafts, 1)
        )
        notes = tuple(f"{words}: {count}" for words, count in self._notes.items())
        return ReadSteps(rounds, "\n\n".join(self._system) if self._system else None, notes)

    def _open(self) -> _AtifRound:
        if not self._drafts:
            self._drafts.append(_AtifRound())
        return self._drafts[-1]

    def _other(
        self, number: int, step: Mapping[str, Any], who: str, text: str | None, images: list[str], started: float | None
    ) -> None:
        """Keep a step of neither user nor agent beside the trajectory."""
        results = [text for _, text, _ in _results(step)]
        told = "\n".join(part for part in (text, *results) if part) or None
        kept = Step(
            f"s{number}",
            StepKind.AGENT,
            agent=who,
            result=told,
            images=tuple(images),
            started=started,
            attributes={"atif": step},
        )
        self._open().steps.append(kept)

    def _decide(
        self, number: int, step: Mapping[str, Any], text: str, images: list[str], started: float | None
    ) -> None:
        calls = step.get("tool_calls")
        calls = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
        copied = step.get("is_copied_context") is True
        reasoning = step.get("reasoning_content")
        thought = "\n".join(part for part in (reasoning, text if calls else None) if isinstance(part, str) and part)
        results = _results(step)
        by_id: dict[str | None, list[_Result]] = {}
        for result in results:
            by_id.setdefault(result[0], []).append(result)
        draft = self._open()
        model = step.get("model_name")
        usage = NO_USAGE if copied or step.get("llm_call_count") == 0 else _usage(step)
        for place, call in enumerate(calls or [None], 1):
            mark: dict[str, Any] = {}
            if call is None:
                mark[ANSWER] = text
            elif call.get("tool_call_id") is not None:
                mark[CALL_ID] = call["tool_call_id"]
            if call is not None and (why := _undispatched(call)) is not None:
                mark[UNDISPATCHED] = why
            found = _results_of(call, results, by_id, alone=len(calls) == 1)
            pictures = [*(images if place == 1 else ()), *(image for result in found for image in result[2])]
            draft.steps.append(
                Step(
                    f"s{number}" if place == 1 else f"s{number}#{place}",
                    StepKind.ACTION if place > 1 or step.get("llm_call_count") == 0 else StepKind.MODEL,
                    agent=self._agent,
                    thought=thought or None,
                    tool=None if call is None else as_text(call.get("function_name")) or None,
                    tool_input=None if call is None else call.get("arguments"),
                    result="\n".join(text for _, text, _ in found) if found else None,
                    images=tuple(pictures),
                    model=model if isinstance(model, str) else self._model,
                    usage=usage if place == 1 else NO_USAGE,
                    started=started,
                    attributes={**({"atif": step} if place == 1 else {}), **({} if copied else {MARK: mark})},
                )
            )
        if copied:
            self._note("steps that were copied from an earlier trajectory, not judged", 1)
        elif not calls:
            draft.agent.append(text)
            draft.images |= dict.fromkeys(images)
        self._count_strays(results, calls)

    def _count_strays(self, results: list[_Result], calls: list[Mapping[str, Any]]) -> None:
        known = {identity for call in calls if isinstance(identity := call.get("tool_call_id"), str)}
        strays = sum(identity is not None and identity not in known for identity, _, _ in results)
        if strays:
            self._note("tool results without a call", strays)

    def _note(self, words: str, count: int) -> None:
        self._notes[words] = self._notes.get(words, 0) + count


_Result = tuple[str | None, str, list[str]]
"""Id of the call, text and pictures."""


def _undispatched(call: Mapping[str, Any]) -> str | None:
    extra = call.get("extra")
    why = extra.get(UNDISPATCHED) if isinstance(extra, Mapping) else None
    return why if isinstance(why, str) else None


def _results_of(
    call: Mapping[str, Any] | None,
    results: list[_Result],
    by_id: Mapping[str | None, list[_Result]],
    *,
    alone: bool,
) -> list[_Result]:
    """Return the results that belong to a call: by id, or because there is no other call that they could belong to."""
    if call is None:
        return results
    identity = call.get("tool_call_id")
    if alone:
        return [result for result in results if result[0] is None or result[0] == identity]
    return by_id.get(identity, []) if isinstance(identity, str) else []


def _results(step: Mapping[str, Any]) -> list[_Result]:
    """Return the results of a step."""
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, Mapping) else None
    found = []
    for result in results if isinstance(results, list) else ():
        if isinstance(result, Mapping):
            text, images = _content(result.get("content"))
            identity = result.get("source_call_id")
            found.append((None if identity is None else str(identity), text, images))
    return found


def _content(content: Any) -> tuple[str, list[str]]:
    """Text and files of a message: a string, or parts of text, images and sound."""
    if not isinstance(content, list):
        return as_text(content), []
    texts, files = [], []
    for part in content:
        source = part.get("source") if isinstance(part, Mapping) else None
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(source, Mapping) and isinstance(source.get("path"), str):
            if part.get("type") == "audio":
                texts.append(f"[sound: {source['path']}]")
            else:
                files.append(source["path"])
    return "\n".join(texts), files


def _usage(step: Mapping[str, Any]) -> Usage:
    metrics = step.get("metrics")
    if not isinstance(metrics, Mapping):
        return UNREPORTED
    given, said = metrics.get("prompt_tokens"), metrics.get("completion_tokens")
    if given is None and said is None and metrics.get("cost_usd") is None:
        return UNREPORTED
    calls = step.get("llm_call_count")
    return Usage.answered(
        given,
        said,
        metrics.get("cached_tokens"),
        calls=calls if isinstance(calls, int) and calls > 0 else 1,
        cost=metrics.get("cost_usd"),
    )
