"""Writes an agent's steps for judges: one form for all prompts, in which no text can be taken for another part.

Each part begins at the left margin with its name; the further lines of its text are indented. Text that is too long is
cut, and the gap carries a marker that nobody in the transcript can know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from viva.judge.quotes import Text
from viva.models.marks import new_mark
from viva.records.text import one_line, printable, storable
from viva.records.trajectory import how_ended, surroundings
from viva.records.transcript import LIVE, SERVERS, Step, Transcript

NO_RESULT = "(not run)"
"""Stands for the result of a call for which nobody reported one."""
NOT_RECORDED = "(not recorded)"
"""The same in a recording, whose source may leave results out."""
ENDED = "ended"
"""The name of the part of a step that says how a recorded command ended."""
INDENT = "    "
MOST_TOOLS = 100
"""Maximum number of tools that a judge is told of."""

Part = tuple[str, str]
"""The name of a part of a step, and its text."""


def new_marker() -> str:
    """Return a random marker. It is drawn after the conversation has ended, so nobody in it can know it."""
    return new_mark(8)


def visible(words: str) -> str:
    """Return text in which characters that hide or reorder others are shown as escapes, such as `\\u200b`."""
    return printable(words)


def origin(transcript: Transcript, step: Step) -> str:
    """Return who recorded a step: the environment, the agent that reported it, or the recording's instrumentation."""
    if step.from_environment:
        return "recorded by the environment"
    return "reported by the agent" if transcript.source == LIVE else "recorded"


def kind_of(step: Step) -> str:
    """Return the kind of a step for its head; `other` for an unknown one, which may be any words of the agent's."""
    return step.kind.value if step.kind.known else "other"


def is_recorded(transcript: Transcript) -> bool:
    """Return whether the environment recorded any step."""
    return any(step.from_environment for round_ in transcript.rounds for step in round_.steps)


def offered_tools(transcript: Transcript) -> tuple[str, ...]:
    """Return the tools of the case's MCP servers, of which every call was recorded."""
    servers = transcript.attributes.get(SERVERS) if transcript.source == LIVE else None
    named = [name for tools in servers.values() for name in tools] if isinstance(servers, Mapping) else []
    return tuple(dict.fromkeys(one_line(str(name), 100) for name in named[:MOST_TOOLS]))


def without_result(transcript: Transcript) -> str:
    """Return what stands for the result of a call that has none."""
    return NO_RESULT if transcript.source == LIVE else NOT_RECORDED


def parts_of(step: Step, no_result: str = NO_RESULT) -> Iterator[Part]:
    """Yield the parts of a step that were recorded, in the order in which they took place.

    Args:
        step: The step.
        no_result: What stands for the result of a call that has none.
    """
    for name in ("agent", "observation", "thought", "plan", "tool"):
        if (value := getattr(step, name)) is not None:
            yield name, value
    if step.tool_input is not None:
        yield "input", input_text(step.tool_input)
    yield from surrounding_parts(step)
    if step.error is not None:
        yield "error", step.error
    if step.result is not None:
        yield "result", step.result
    elif step.tool is not None and step.error is None:
        yield "result", no_result
    if (ended := how_ended(step)) is not None:
        yield ENDED, ended


def surrounding_parts(step: Step) -> Iterator[Part]:
    """Yield the folder and the variables with which a command was run, where the environment recorded them."""
    yield from ((name, input_text(value)) for name, value in surroundings(step))


def step_text(parts: Iterable[Part], most: int | None = None, marker: str = "") -> str:
    """Write the parts of a step; quotes are looked up in the same text.

    Args:
        parts: Name and text of each part.
        most: Maximum number of characters of one text.
        marker: The marker of gaps; required if `most` is given.
    """
    lines: list[str] = []
    for name, text in parts:
        words = text if most is None else cut(text, most, marker)
        first, *further = f"{words}.".splitlines()
        lines += [f"{name}: {first}", *(f"{INDENT}{line}" for line in further)]
        lines[-1] = lines[-1][:-1]  # the full stop kept what follows a last line break
    return storable("\n".join(line.rstrip(" ") if line.endswith(": ") else line for line in lines))


def input_text(given: Any) -> str:
    """Return a tool's arguments as text: as they were given if they are text, else as one line of JSON."""
    return given if isinstance(given, str) else to_text(given)


def to_text(value: Any) -> str:
    """Return a value as one line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)
    except (ValueError, RecursionError):  # it contains itself
        return repr(value)


def cut(text: str, most: int, marker: str) -> str:
    """Return the head and tail of a text that is longer than `most` characters, with a gap that carries the marker."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]} [… {len(text) - head - tail:,} characters left out, {marker} …] {text[len(text) - tail :]}"


def indented(text: str) -> str:
    """Indent every line of a text, by whatever character it ends; what follows a last line break is kept."""
    return "\n".join(f"{INDENT}{line}" for line in f"{text}.".splitlines())[:-1]


def readings(words: str | None) -> tuple[Text, ...]:
    """Return a text in each form in which a judge may quote it: as shown, as said, and with JSON's escapes undone."""
    said = words or ""
    shown = visible(said)
    forms = dict.fromkeys((shown, said, _JSON_ESCAPE.sub(_unescaped, said)))
    return tuple(map(Text, forms))


_JSON_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\([nrtbf\"/\\])")


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is not None:
        return chr(int(match[1], 16))
    return match[2] if match[2] in '"/\\' else " "
