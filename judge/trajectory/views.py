"""What a judge is shown of a trajectory, as named fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from viva.judge.steps import indented, without_result
from viva.judge.trajectory.asking import Field
from viva.judge.trajectory.decisions import StepDecision, step_lines
from viva.judge.trajectory.tools import definitions_text, tool_definitions
from viva.judge.view import show
from viva.records.transcript import Round, Transcript

RESULT_SHOWN = 2000
"""Characters of one text of an earlier step."""
EARLIER_STEPS = 20
"""Steps before the one that is judged that a judge is shown."""


def tools_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the tool definitions, where the recording has any. They come first: a provider's cache serves them."""
    if tools := tool_definitions(transcript.tools):
        yield Field("Available Tools", definitions_text(tools))


def instructions_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the instructions that the agent was given, if the recording contains them."""
    if transcript.system:
        yield Field("Instructions", transcript.system)


def conversation_field(transcript: Transcript, marker: str) -> Iterator[Field]:
    """Yield what was said, without steps, if there are several rounds: only there are consent and corrections."""
    said = tuple(
        replace(each, steps=()) for each in transcript.rounds if each.examiner is not None or each.agent is not None
    )
    if len(said) > 1:
        yield Field("Conversation", show(replace(transcript, rounds=said), marker).text, said[0].id)


def queries_field(transcript: Transcript) -> Iterator[Field]:
    """Yield every message of the user."""
    asked = [round_ for round_ in transcript.rounds if round_.examiner]
    if len(asked) == 1:
        yield Field("User Query", asked[0].examiner or "", asked[0].id)
    elif asked:
        words = "\n".join(f"Message {number}:\n{indented(each.examiner or '')}" for number, each in enumerate(asked, 1))
        yield Field("User Query", words, asked[0].id)


def answer_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the agent's last words."""
    last = next((round_ for round_ in reversed(transcript.rounds) if round_.agent), None)
    if last is not None:
        yield Field("Final Answer", last.agent or "", last.id)


def said_before(
    transcript: Transcript, step: StepDecision, name: str, marker: str, *, with_query: bool
) -> Iterator[Field]:
    """Yield what was said before a step, without steps; with the query that it answers, or up to it."""
    rounds: list[Round] = []
    for round_ in transcript.rounds:
        if round_.number > step.round:
            break
        own = round_.number == step.round
        if own and not with_query:
            break
        rounds.append(replace(round_, steps=(), agent=None if own else round_.agent))
    said = tuple(round_ for round_ in rounds if round_.examiner is not None or round_.agent is not None)
    if said:
        yield Field(name, show(replace(transcript, rounds=said, given=()), marker).text, said[-1].id)


def earlier_steps(
    transcript: Transcript,
    path: Sequence[StepDecision],
    step: StepDecision,
    name: str,
    marker: str,
    *,
    same_round: bool,
) -> Iterator[Field]:
    """Yield the newest steps before one: of its round, or of all."""
    before = [each for each in path[: step.number - 1] if not same_round or each.round == step.round]
    if before:
        words = step_lines(before[-EARLIER_STEPS:], RESULT_SHOWN, marker, without_result(transcript))
        yield Field(name, words, before[-1].id)


def steps_field(transcript: Transcript, path: Sequence[StepDecision], marker: str) -> Field:
    """Return all steps."""
    # All of them must find room: the more there are, the less is shown of each.
    longest = max(100, min(RESULT_SHOWN, 300_000 // (4 * len(path) or 1)))
    return Field("Steps", step_lines(path, longest, marker, without_result(transcript)), path[0].id if path else None)


def reduced(transcript: Transcript, path: Sequence[StepDecision]) -> Transcript:
    """Leave only the steps of the trajectory in a transcript: a recording made of spans has many others."""
    steps = {id(each.step) for each in path}
    rounds = (
        replace(each, steps=tuple(step for step in each.steps if id(step) in steps)) for each in transcript.rounds
    )
    return replace(transcript, rounds=tuple(rounds))


def sources(transcript: Transcript, path: Sequence[StepDecision]) -> tuple[tuple[str, str], ...]:
    """Return the texts of a trajectory, each with the id of its step or round, to look quotes up in."""
    texts = [(each.id, text) for each in path for text in (each.thought, each.tool, each.input, each.result) if text]
    said = [(each.id, text) for each in transcript.rounds for text in (each.examiner, each.agent) if text]
    return (*texts, *said)
