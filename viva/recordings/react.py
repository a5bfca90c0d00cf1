"""Reads the text of agents that think and act in words (ReAct): thought, action, its input, answer.

The labels are those of Yao et al. 2022 (arXiv:2210.03629) as LlamaIndex and LangChain write them. Nothing raises and no
text is lost: `segments` takes a text apart so that its parts, put together again, are the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from viva.recordings.chat_messages import read_arguments

IMPLICIT_THOUGHT = "(Implicit) I can answer without any more tools!"
"""What LlamaIndex notes as the thought of an agent that answers without one."""


class PartLabel(StrEnum):
    """What stands before a part of a text."""

    NONE = ""
    THOUGHT = "Thought"
    ACTION = "Action"
    INPUT = "Action Input"
    OBSERVATION = "Observation"
    ANSWER = "Answer"


# Possessive (`*+`), so that the time does not grow with the square of a run of blanks.
_LABEL = re.compile(
    r"^[^\S\n]*+(?:[>#]++[^\S\n]*+)?+\*{0,2}+"
    r"(Thought|Action[ _]?Input|Action|Observation|Final[ _]?Answer|Answer)(?:[^\S\n]*+\d{1,4}+)?+"
    r"[^\S\n]*+\*{0,2}+[^\S\n]*+:\*{0,2}",
    re.MULTILINE,
)
_ANSWER_WITHIN = re.compile(r"(?<=\s)(?:Final Answer|Answer):")
_OBSERVATION = re.compile(r"\s*Observation:\s?")
_FENCE = re.compile(r"\s*```[\w-]*[^\S\n]*\n?(?P<inside>.*?)(?:```\s*|\Z)", re.DOTALL)
_NAME = re.compile(r"[^\s(]+")
_NO_TOOL = frozenset({"", "-", "none", "n/a", "na", "null", "no tool", "no tool used", "no tool needed", "no action"})
INPUTS = 100
"""Inputs in one text whose ends are looked for: each broken one costs as much time as the whole text is long."""
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Segment:
    """One labelled part of a text."""

    label: PartLabel
    marker: str
    """The label as it was written, colon and blanks before it included; empty before the first label."""
    text: str


@dataclass(frozen=True, slots=True)
class ReactText:
    """What an agent wrote in one turn. The parts hold every word of it; blanks around them are left out."""

    thought: str | None = None
    tool: str | None = None
    """None if it named none, or said that it uses none."""
    tool_input: Any = None
    """An object where it is JSON, else the text as it was written; None if there is no `Action Input`."""
    answer: str | None = None
    rest: str = ""
    """What no framework acts on: text after the first action's input, after a repeated label, beside a tool's name."""
    labelled: bool = False
    """Whether there is any label: else the whole text is the answer."""
    fault: str | None = None
    """What of the format is missing, where something is."""


def segments(text: str) -> list[Segment]:
    """Split a text at its labels, which begin a line.

    An `Action Input` that begins with a JSON value (one of the first `INPUTS`) extends as far as the value, whatever
    lines it contains. An `Answer` extends to the end. In a text without an action, an `Answer:` also counts within a
    line.

    Returns:
        The parts in order; all markers and texts put together are the text itself.
    """
    parts: list[Segment] = []
    label, marker, begun, position, inputs = PartLabel.NONE, "", 0, 0, 0
    while label is not PartLabel.ANSWER:
        found = _LABEL.search(text, position)
        if found is None:
            break
        if marker or found.start() > begun:
            parts.append(Segment(label, marker, text[begun : found.start()]))
        label, marker, begun = _label(found[1]), found[0], found.end()
        inputs += label is PartLabel.INPUT
        position = _end_of_value(text, begun) if label is PartLabel.INPUT and inputs <= INPUTS else begun
    if marker or begun < len(text):
        parts.append(Segment(label, marker, text[begun:]))
    acts = any(part.label in (PartLabel.ACTION, PartLabel.ANSWER) for part in parts)
    return parts if acts else [piece for part in parts for piece in _split_answer(part)]


def _label(name: str) -> PartLabel:
    plain = name.replace("_", " ")
    if plain.endswith("Answer"):
        return PartLabel.ANSWER
    return PartLabel.INPUT if plain.endswith("Input") else PartLabel(plain)


def _end_of_value(text: str, begun: int) -> int:
    """Return where a JSON object or list that begins here ends; the same place where there is none."""
    opening = _FENCE.match(text, begun)
    start = opening.start("inside") if opening else begun
    while start < len(text) and text[start].isspace():
        start += 1
    if start >= len(text) or text[start] not in "{[":
        return begun
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return begun


def _split_answer(part: Segment) -> list[Segment]:
    found = _ANSWER_WITHIN.search(part.text) if part.label is PartLabel.THOUGHT else None
    if found is None:
        return [part]
    before, after = part.text[: found.start()], part.text[found.end() :]
    return [Segment(part.label, part.marker, before), Segment(PartLabel.ANSWER, found[0], after)]


def read_react(text: str) -> ReactText:
    """Read what an agent wrote in one turn, as far as its first action or its answer.

    What comes after the first action's input is in `rest`: an agent that continues writes the observation itself, and
    no framework uses it.
    """
    parts = segments(text)
    if all(part.label is PartLabel.NONE for part in parts):
        return ReactText(answer=text.strip()) if text.strip() else ReactText()
    taken: dict[PartLabel, str] = {}
    rest: list[str] = []
    for part in parts:
        done = PartLabel.INPUT in taken or (PartLabel.ACTION in taken and part.label is not PartLabel.INPUT)
        label = PartLabel.THOUGHT if part.label is PartLabel.NONE else part.label
        if part.label is PartLabel.NONE and not part.text.strip():
            continue
        if label is PartLabel.THOUGHT and not done and PartLabel.ANSWER not in taken:
            known = taken.get(PartLabel.THOUGHT)
            taken[PartLabel.THOUGHT] = part.text.strip() if known is None else f"{known}\n{part.text.strip()}".strip()
        elif label is PartLabel.OBSERVATION or done or label in taken:
            rest.append(f"{part.marker}{part.text}")
        else:
            taken[label] = part.text.strip()
    return _read_parts(taken, rest)


def _read_parts(taken: dict[PartLabel, str], rest: list[str]) -> ReactText:
    thought, answer = taken.get(PartLabel.THOUGHT), taken.get(PartLabel.ANSWER)
    blob = _blob(taken.get(PartLabel.ACTION, ""))
    if blob is not None and PartLabel.INPUT not in taken:
        tool, given, beside = blob
    else:
        tool, beside = _tool_name(taken.get(PartLabel.ACTION, ""))
        given = read_input(taken[PartLabel.INPUT]) if PartLabel.INPUT in taken else None
    if tool is not None and tool.replace("_", " ").lower() == "final answer" and answer is None:
        tool, answer, given = None, given if isinstance(given, str) else to_json(given), None
    if beside:
        rest.insert(0, beside)
    fault = None
    if tool is not None and blob is None and PartLabel.INPUT not in taken:
        fault = "an Action without an Action Input"
    elif PartLabel.INPUT in taken and PartLabel.ACTION not in taken:
        fault = "an Action Input without an Action"
    elif tool is None and answer is None:
        fault = "neither an Action nor an Answer"
    return ReactText(thought, tool, given, answer, "\n".join(rest).strip(), True, fault)


def to_json(value: Any) -> str:
    """Return a value as one line of JSON; what JSON cannot hold is written as Python shows it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return repr(value)


def _tool_name(text: str) -> tuple[str | None, str]:
    """Return the tool's name and what else stands there: `search("x")` names `search`."""
    plain = text.strip().strip("`*").strip()
    if plain.strip(".[]()").strip().lower() in _NO_TOOL:
        return None, plain
    quoted = plain[1:-1] if len(plain) > 2 and plain[0] == plain[-1] and plain[0] in "\"'" else plain
    found = _NAME.match(quoted)
    return (quoted, "") if found is None else (found[0], quoted[found.end() :].strip())


def read_input(text: str) -> Any:
    """Return the input of an action as an object where it is JSON, fenced or not; else the text as it is."""
    fenced = _FENCE.fullmatch(text)
    inside = (fenced["inside"] if fenced else text).strip()
    value = read_arguments(inside)
    if value is not inside or not inside.startswith("{"):
        return value if value is not inside else text
    return text


def _blob(action: str) -> tuple[str | None, Any, str] | None:
    """Read LangChain's form, in which the action is a JSON object with `action` and `action_input`."""
    fenced = _FENCE.match(action)
    inside = fenced["inside"] if fenced else action
    value = read_arguments(inside.strip()) if inside.lstrip().startswith("{") else None
    if not isinstance(value, Mapping) or not isinstance(value.get("action"), str):
        return None
    final = value["action"].replace("_", " ").strip().lower() == "final answer"
    name, beside = ("final answer", "") if final else _tool_name(value["action"])
    others = {key: each for key, each in value.items() if key not in ("action", "action_input")}
    parts = [beside, to_json(others) if others else "", action[fenced.end() :] if fenced else ""]
    return name, value.get("action_input"), "\n".join(part for part in parts if part.strip())


def observation_in(text: str) -> str | None:
    """Return what follows `Observation:`; None for other words."""
    found = _OBSERVATION.match(text)
    return None if found is None else text[found.end() :].strip()
