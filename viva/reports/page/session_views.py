"""Prepares desktop and browser sessions for a page: captions of screenshots, plans, and UFO's texts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from viva.records.text import one_line
from viva.records.transcript import Round, Step

CAPTIONS = {
    "clean": "clean",
    "annotated": "annotated",
    "selected_controls": "selected controls",
    "concatenated": "clean and annotated",
    "desktop": "desktop",
    "final": "at the end",
    "round_final": "at the end of the round",
    "sub_round_final": "at the end of a sub-round",
}
"""Maps the role of a picture to its caption."""
TOLD = ("subtask", "comment", "application", "status")
"""Attributes of a step that are shown as texts."""
SHOWN = frozenset({*TOLD, "image_roles", "plan", "step"})
"""Attributes that a page shows elsewhere."""


def captions(images: Sequence[str], attributes: Mapping[str, Any]) -> list[str]:
    """Return the caption of each picture; an empty list if their roles are unknown."""
    roles = attributes.get("image_roles")
    if not isinstance(roles, list | tuple) or not images:
        return []
    words = [CAPTIONS.get(str(role), one_line(str(role), 40).replace("_", " ")) for role in roles[: len(images)]]
    return words + [""] * (len(images) - len(words))


def title_of(step: Step) -> str:
    """Return the title of a step. If the roles of its screenshots are known, it begins with the step's id."""
    words = one_line(step.tool or step.thought or step.result or step.id, 100)
    if "image_roles" not in step.attributes:
        return words
    given = step.tool_input if isinstance(step.tool_input, Mapping) else {}
    texts = [value for key, value in given.items() if key in ("text", "keys", "url") and isinstance(value, str)]
    return f"{one_line(step.id, 20)} · {words}" + (f" “{one_line(texts[0], 60)}”" if texts else "")


def told_by(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the further texts of a step: its subtask, its comment for the user, and so on."""
    for name in TOLD:
        value = step.attributes.get(name)
        if isinstance(value, str) and value:
            yield name, value


def plans_of(round_: Round) -> Iterator[tuple[str, str]]:
    """Yield the subtasks and the plan of a round, one item per line."""
    for name in ("subtasks", "plan"):
        value = round_.attributes.get(name)
        if isinstance(value, list | tuple) and value:
            yield name, "\n".join(map(str, value))
