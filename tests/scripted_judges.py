"""Judges for the model server that read the judge's prompt as it is sent: perfect, constant and gullible ones."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from tests.model_server import Answer, Fault, Part, Play, Request, marked, resolve, text_of, verdict
from viva.judge.calibration.sets import LabelledItem, LabelledSet
from viva.judge.steps import parts_of, step_text, visible, without_result
from viva.judge.view import show
from viva.models.model import NO_LIMITS, CallLimits, Completion, ModelFeatures, ModelMessage
from viva.records.transcript import Usage

BETWEEN = re.compile(
    r"^----- transcript (?P<marker>\w+) begins -----\n(?P<said>.*)\n----- transcript (?P=marker) ends -----$",
    re.M | re.S,
)
HEAD = re.compile(r"\[round (\d+)\] (examiner|agent|viva: how the agent failed|step \d+ \([a-z]+, [a-z ]+\)):")


class ScriptedModel:
    """A model that a part plays in this process: as through the server, but ten times as fast."""

    name = "scripted"
    features = ModelFeatures(structured=False)

    def __init__(self, play: Play) -> None:
        self._play = play

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Return what the part plays."""
        request = {"messages": [{"role": each.role, "content": each.content} for each in messages]}
        played = marked(resolve(self._play, request), request)
        assert isinstance(played, str)
        return Completion(played, usage=Usage.answered(100, 10, cost=0.001))


@dataclass(frozen=True)
class Question:
    """A question to a judge, read by the letter of the prompt: only what begins at the left margin is a turn."""

    marker: str
    said: str
    """The transcript, with M in place of its marker."""
    turns: tuple[tuple[str, str], ...]
    statement: str
    background: str | None


def prompt_of(request: Request) -> str:
    """Return the first question of a conversation with a judge."""
    return next(text_of(message) for message in request["messages"] if message["role"] == "user")


def read_question(prompt: str) -> Question:
    """Return what a question asks."""
    found = BETWEEN.search(prompt)
    assert found is not None, prompt[:200]
    statement = prompt[found.end() :].split("<statement>\n", 1)[1].split("\n</statement>", 1)[0]
    marker = found["marker"]
    world = re.search(r"^<background>\n(.*)\n</background>$", prompt[: found.start()], re.M | re.S)
    said = found["said"]
    background = None if world is None else world[1]
    return Question(marker, said.replace(marker, "M"), tuple(read_turns(said)), statement, background)


def read_turns(said: str) -> Iterable[tuple[str, str]]:
    """Yield head and words of each turn."""
    head, words = "", list[str]()
    for line in said.split("\n"):
        if line.startswith("    "):
            words.append(line[4:])
            continue
        if head:
            yield head, "\n".join(words)
        head, words = line, []
    yield head, "\n".join(words)


def quote_of(item: LabelledItem) -> dict[str, object]:
    """Return a quote of the agent, the last one that has a letter or digit."""
    no_result = without_result(item.transcript)
    lines = [
        (round_.number, line.strip())
        for round_ in item.transcript.rounds
        for text in (*(step_text(parts_of(step, no_result)) for step in round_.steps), round_.agent or "")
        for line in visible(text).split("\n")
        if any(character.isalnum() for character in line)
    ]
    number, line = lines[-1]
    return {"round": number, "quote": line}


def by_the_letter(labelled: LabelledSet) -> Part:
    """A judge that knows the right label of each transcript whose turns it reads by the rules, and else says hit."""
    known: dict[tuple[object, ...], tuple[str, dict[str, object]]] = {}
    for item in labelled.items:
        turns = tuple(read_turns(show(item.transcript, "M").text))
        for each in item.points:
            key = (turns, item.case.background, each.point.score_point)
            assert key not in known, f"{item.id} asks what another item asks"
            known[key] = (each.label, quote_of(item))

    def part(request: Request) -> str:
        question = read_question(prompt_of(request))
        turns = tuple((head, words.replace(question.marker, "M")) for head, words in question.turns)
        label, quote = known.get((turns, question.background, question.statement), ("hit", {"round": 1, "quote": ""}))
        return verdict(label, f"Read by the rules: {label}.", *([quote] if label == "hit" else []))

    return part


def last_words(request: Request) -> dict[str, object]:
    """Return a quote of the agent from the prompt itself."""
    question = read_question(prompt_of(request))
    said = [
        (int(found[1]), line.strip())
        for head, words in question.turns
        if (found := HEAD.fullmatch(head)) and found[2] != "examiner" and not found[2].startswith("viva")
        for line in words.split("\n")
        if any(character.isalnum() for character in line) and question.marker not in line
    ]
    number, quote = said[-1]
    return {"round": number, "quote": quote}


def always_yes(request: Request) -> str:
    """A judge to whom every statement is true."""
    return verdict("hit", "It seems so to this one.", last_words(request))


def always_no(request: Request) -> str:
    """A judge to whom no statement is true."""
    return verdict("miss", "It does not seem so to this one.")


def at_random(seed: int) -> Part:
    """A judge that throws a coin for each question: the same for the same statement and transcript."""

    def part(request: Request) -> str:
        question = read_question(prompt_of(request))
        coin = random.Random(f"{seed} {question.statement} {question.said}")
        return always_yes(request) if coin.random() < 0.5 else always_no(request)

    return part


def gullible(labelled: LabelledSet) -> Part:
    """A judge that is right unless the transcript says hit or speaks of a judge anywhere: then it grants the point."""
    honest = by_the_letter(labelled)

    def part(request: Request) -> str | Answer | Fault:
        if re.search(r"\bhit\b|judge", read_question(prompt_of(request)).said, re.I):
            return always_yes(request)
        return honest(request)

    return part
