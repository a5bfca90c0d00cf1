"""`SessionDraft`: a session while its messages are read, in the steps of ATIF, which make rounds of it at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from viva.recordings.atif.steps import read_steps
from viva.recordings.recording import Recording
from viva.recordings.subjects import subject_of
from viva.records.trajectory import CALL_ID, MARK
from viva.records.transcript import Round, Transcript
from viva.records.usage import with_usage


@dataclass(slots=True)
class SessionDraft:
    """The messages of one session, in their order."""

    agent: str
    """The name of the recorded agent."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    """Maps the id of a call to the error that its result is."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What else the source says of the session."""
    notes: list[str] = field(default_factory=list)
    _by_call: dict[str, dict[str, Any]] = field(default_factory=dict)

    def system(self, text: str, when: Any = None) -> None:
        """Add a message of the system."""
        self.steps.append({"source": "system", "message": text, "timestamp": when})

    def user(self, text: str, images: Sequence[str] = (), when: Any = None) -> None:
        """Add a message of the user, which begins a round."""
        self.steps.append({"source": "user", "message": _content(text, images), "timestamp": when})

    def said(
        self,
        text: str,
        calls: Sequence[tuple[str, str, Any]] = (),
        *,
        thought: str = "",
        model: str | None = None,
        metrics: Mapping[str, Any] | None = None,
        when: Any = None,
        raw: Any = None,
    ) -> dict[str, Any]:
        """Add an answer of the model, and return its step.

        Args:
            text: What it said.
            calls: Id, tool and arguments of each call that it asked for.
            thought: Its reasoning.
            model: Its name.
            metrics: Tokens, as in ATIF: `prompt_tokens`, `completion_tokens`, `cached_tokens`.
            when: An ISO 8601 time, or seconds since the epoch.
            raw: What the source says beside it.
        """
        step: dict[str, Any] = {
            "source": "agent",
            "message": text,
            "reasoning_content": thought or None,
            "model_name": model,
            "metrics": metrics,
            "timestamp": when,
        }
        if raw is not None:
            step["extra"] = raw
        self.steps.append(step)
        self.call(step, calls)
        return step

    def call(self, step: dict[str, Any], calls: Sequence[tuple[str, str, Any]]) -> None:
        """Add further calls to an answer."""
        for key, name, arguments in calls:
            step.setdefault("tool_calls", []).append(
                {"tool_call_id": key, "function_name": name, "arguments": arguments}
            )
            self._by_call[key] = step

    def result(self, key: str, text: str, images: Sequence[str] = (), error: str | None = None) -> None:
        """Add the result of a call; one whose call is not there belongs to the last answer, and is counted there."""
        step = self._by_call.get(key)
        if step is None:
            step = next((each for each in reversed(self.steps) if each["source"] == "agent"), None) or self.said("")
        results = step.setdefault("observation", {"results": []})["results"]
        results.append({"source_call_id": key, "content": _content(text, images)})
        if error is not None:
            self.errors[key] = error

    def recording(
        self,
        *,
        place: str,
        run_key: str,
        source: str,
        session: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        version: str | None = None,
    ) -> Recording:
        """Make the recording of the session.

        Args:
            place: Where it was found, for messages.
            run_key: Its key, unique in its source.
            source: The reader's name.
            session: Its id.
            tools: Definitions of its tools.
            version: The agent's version.
        """
        model = next((step["model_name"] for step in self.steps if step.get("model_name")), None)
        read = read_steps(self.steps, model, self.agent)
        transcript = Transcript(
            tuple(self._with_errors(round_) for round_ in read.rounds),
            source=source,
            trace_id=session,
            system=read.system,
            tools=tuple(tools),
            notes=(*read.notes, *self.notes),
            attributes={**({"session": session} if session else {}), **self.kept},
        )
        question = next((each.examiner for each in read.rounds if each.examiner), None)
        return Recording(
            with_usage(transcript),
            place=place,
            run_key=run_key,
            subject=subject_of(question) if question and question.strip() else None,
            agent=self.agent,
            agent_version=version,
        )

    def _with_errors(self, round_: Round) -> Round:
        steps = tuple(
            replace(step, error=self.errors[key])
            if (key := (step.attributes.get(MARK) or {}).get(CALL_ID)) in self.errors
            else step
            for step in round_.steps
        )
        return replace(round_, steps=steps)


def _content(text: str, images: Sequence[str]) -> Any:
    if not images:
        return text
    pictures = [{"type": "image", "source": {"path": image}} for image in images]
    return [*([{"type": "text", "text": text}] if text else []), *pictures]
