"""What a judge is shown of a trajectory, as named fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from viva.judge.steps import indented
from viva.judge.trajectory.asking import Field
from viva.judge.trajectory.decisions import StepDecision, step_turns
from viva.judge.trajectory.tools import definitions_text, tool_definitions
from viva.judge.turns import TRANSCRIPT_SHOWN, TURN_SHOWN, ShownTurns, source_of_message
from viva.judge.view import turns_of
from viva.records.trajectory import is_further_output
from viva.records.transcript import LIVE, Round, Transcript

RESULT_SHOWN = 2000
"""Maximum number of characters of one text of a step, if there is room for it."""
EARLIER_STEPS = 20
"""Steps before the one that is judged that a judge is shown, of those that were recorded and of others."""


def tools_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the tool definitions, where the recording has any. They come first: a provider's cache serves them."""
    if tools := tool_definitions(transcript.tools):
        yield stated_field(transcript, "Available Tools", definitions_text(tools))


def instructions_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the instructions that the agent was given, if the recording contains them."""
    if transcript.system:
        yield stated_field(transcript, "Instructions", transcript.system)


def stated_field(transcript: Transcript, name: str, words: str) -> Field:
    """Return as a field what a case or Viva states in an exam, and what a recording holds in the place of that."""
    return Field(name, words, given=words if transcript.source == LIVE else None, by="asked")


def shown_field(name: str, transcript: Transcript, where: str, most: int = TRANSCRIPT_SHOWN) -> Field:
    """Return a conversation as a field of at most about so many characters."""
    return Field(name, ShownTurns(turns_of(transcript), most), where)


def conversation_field(transcript: Transcript) -> Iterator[Field]:
    """Yield what was said, without steps, if there are several rounds: only there are consent and corrections."""
    said = tuple(
        replace(each, steps=()) for each in transcript.rounds if each.examiner is not None or each.agent is not None
    )
    if len(said) > 1:
        yield shown_field("Conversation", replace(transcript, rounds=said), said[0].id)


def queries_field(transcript: Transcript) -> Iterator[Field]:
    """Yield every message of the user."""
    asked = [round_ for round_ in transcript.rounds if round_.examiner]
    if asked:
        given = [round_ for round_ in asked if source_of_message(transcript, round_) == "given"]
        several = len(asked) > 1
        yield Field("User Query", _messages(asked, several), asked[0].id, given=_messages(given, several), by="asked")


def _messages(rounds: Sequence[Round], several: bool) -> str:
    """Return the messages of some rounds, counted if there are several in all."""
    messages = [each.examiner or "" for each in rounds]
    if not several:
        return "".join(messages)
    return "\n".join(f"Message {number}:\n{indented(words)}" for number, words in enumerate(messages, 1))


def query_field(transcript: Transcript, step: StepDecision, name: str) -> Field:
    """Return the message to the agent that a step answers."""
    asked = [each for each in transcript.rounds if each.number <= step.round and each.examiner is not None]
    is_given = bool(asked) and source_of_message(transcript, asked[-1]) == "given"
    return Field(name, step.query, f"r{step.round}", given=step.query if is_given else None, by="asked")


def answer_field(transcript: Transcript) -> Iterator[Field]:
    """Yield the agent's last words."""
    last = next((round_ for round_ in reversed(transcript.rounds) if round_.agent), None)
    if last is not None:
        yield Field("Final Answer", last.agent or "", last.id)


def said_before(transcript: Transcript, step: StepDecision, name: str) -> Iterator[Field]:
    """Yield what was said before the round of a step, without steps."""
    rounds = (replace(each, steps=()) for each in transcript.rounds if each.number < step.round)
    said = tuple(each for each in rounds if each.examiner is not None or each.agent is not None)
    if said:
        yield shown_field(name, replace(transcript, rounds=said, given=()), said[-1].id, TURN_SHOWN)


def earlier_steps(
    transcript: Transcript,
    path: Sequence[StepDecision],
    step: StepDecision,
    name: str,
    marker: str,
    *,
    same_round: bool,
) -> Iterator[Field]:
    """Yield the newest steps before one: of its round, or of all.

    As many of those that the environment recorded are among them as of others, which an agent may report at will.
    """
    # Newest first: of thousands of steps, few are shown.
    newest = [each for each in reversed(path[: step.number - 1]) if not same_round or each.round == step.round]
    seen = islice((each for each in newest if each.step.from_environment), EARLIER_STEPS)
    told = islice((each for each in newest if not each.step.from_environment), EARLIER_STEPS)
    before = [each.before(step.number) for each in sorted([*seen, *told], key=lambda each: each.number)]
    if before:
        yield Field(name, ShownTurns(step_turns(before, RESULT_SHOWN, marker, transcript)), before[-1].id)


def steps_field(transcript: Transcript, path: Sequence[StepDecision], marker: str) -> Field:
    """Return all steps."""
    turns = step_turns(path, RESULT_SHOWN, marker, transcript)
    return Field("Steps", ShownTurns(turns, TRANSCRIPT_SHOWN), path[0].id if path else None)


def reduced(transcript: Transcript, path: Sequence[StepDecision]) -> Transcript:
    """Leave only the steps of the trajectory, and their further output: a recording made of spans has many others."""
    chosen = {id(each.step) for each in path}
    rounds = []
    for each in transcript.rounds:
        steps = tuple(step for step in each.steps if id(step) in chosen or is_further_output(step))
        rounds.append(replace(each, steps=steps))
    return replace(transcript, rounds=tuple(rounds))


def sources(transcript: Transcript, path: Sequence[StepDecision]) -> tuple[tuple[str, str], ...]:
    """Return the texts of a trajectory, each with the id of its step or round, to look quotes up in."""
    texts = [(each.id, text) for each in path for text in (each.thought, each.tool, each.input, each.result) if text]
    said = [(each.id, text) for each in transcript.rounds for text in (each.examiner, each.agent) if text]
    return (*texts, *said)
