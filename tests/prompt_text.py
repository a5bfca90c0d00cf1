"""Reads a rendered prompt as tests ask about it: by its rules in plain words, and by the form of its answer."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any


def states(prompt: str, *rules: str) -> None:
    """Assert that a prompt states these rules, in these words, wherever its lines break."""
    words = " ".join(prompt.split())
    missing = [rule for rule in rules if " ".join(rule.split()) not in words]
    assert not missing, f"the prompt does not state: {missing}"


def form_in(prompt: str) -> Any:
    """Return the JSON template of a prompt, which begins at the left margin behind "in this form" and the like.

    Raises:
        ValueError: it is not JSON.
    """
    start = prompt.index("\n{\n") + 1
    value, end = json.JSONDecoder().raw_decode(prompt, start)
    assert prompt[end : end + 1] in ("", "\n"), "nothing stands behind it on its line"
    return value


def shared_beginning(one: str, other: str) -> str:
    """Return what two texts begin with."""
    return one[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))]


def choices(value: object) -> list[str]:
    """Return the words of a template between which the model chooses."""
    return str(value).split(" | ")
