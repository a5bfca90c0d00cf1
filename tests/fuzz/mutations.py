"""What the fuzzer does to data: to bytes, blindly, and to JSON and YAML values, with knowledge of their form."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

BYTES = ("flip", "set", "cut", "end", "repeat", "insert")
LINES = ("drop line", "double line", "swap lines", "move line", "splice")
VALUES = ("replace", "delete", "rename", "wrap", "double key")
OUTSIDE = "OUTSIDE"
"""Stands in a text for the folder that nothing may touch."""

DEEP: list[Any] = []
for _ in range(150):
    DEEP = [DEEP]
TEXTS = (
    "",
    "\x00",
    "\n",
    "\x1b]0;taken\x07\x1b[2J",
    "\u202etxt.exe",
    "\ud800",
    "../../../OUTSIDE/secret.txt",
    "OUTSIDE",
    "OUTSIDE/secret.txt",
    "OUTSIDE/new.txt",
    "workspaces/../../OUTSIDE",
    "images/../../../OUTSIDE/new.png",
    "texts/../OUTSIDE.txt",
    "~",
    "/dev/zero",
    "/proc/self/environ",
    "x" * 70_000,
    "[bold red]x[/]",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "hit",
    "scored",
    "finished",
    "target_error",
    "infra_error",
    "openai:gpt",
    "process",
    "cmd:touch OUTSIDE/new.txt",
    "OUTSIDE/agent.py:Agent",
    "{{n}}{% for %}",
    "(a+)+$",
    "nan",
    "1e999",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    2**31,
    2**63,
    10**30,
    -(10**400),
    1e308,
    float("nan"),
    float("inf"),
    -0.5,
    [],
    {},
    [[]],
    {"": {"": None}},
    [None] * 1000,
    DEEP,
    {"v": 2},
    ["hit"],
    {"path": "../../OUTSIDE/new.txt", "name": "files/" + "0" * 64 + ".bin"},
)

Change = tuple[str, int, int, Any]
"""What is done, where (twice, any number), and with what."""

_PLACE = st.integers(0, 2**24)
_ODD_BYTES = (
    *(bytes([each]) for each in b'{}"\\\n,:\x00'),
    b"\xff\xfe",
    b"[" * 5000,
    b"9" * 5000,
    b"\xed\xa0\x80",
    b"NaN",
)
_PART = st.binary(max_size=6) | st.sampled_from(_ODD_BYTES)
blind = st.lists(st.tuples(st.sampled_from(BYTES), _PLACE, _PLACE, _PART), min_size=1, max_size=3)
"""Damage to bytes."""
shuffled = st.lists(st.tuples(st.sampled_from((*BYTES, *LINES)), _PLACE, _PLACE, _PART), min_size=1, max_size=3)
"""Damage to bytes and lines."""
any_value = st.sampled_from(TEXTS) | st.sampled_from(ODD)
"""What no writer of the form would put there."""
forged = st.lists(st.tuples(st.sampled_from(VALUES), _PLACE, _PLACE, any_value), min_size=1, max_size=3)
"""Changes of values, by somebody who knows the form."""


def amounts(short: int, *, each: int, batches: int) -> list[Any]:
    """The parameters of a fuzzing test: `short` mutations with all other tests, and batches of `each` in a soak."""
    long = [pytest.param(each, 1000 + batch, marks=pytest.mark.soak, id=f"soak-{batch}") for batch in range(batches)]
    return [pytest.param(short, 1, id="short"), *long]


def fuzzing(examples: int) -> settings:
    """So many mutations, without a clock: a test that hangs is ended, and shown, by pytest's fault handler."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def damaged(content: bytes, changes: Sequence[Change], other: bytes = b"") -> bytes:
    """The bytes after some damage; `other` is what a splice takes lines from."""
    for what, first, second, part in changes:
        if what in LINES:
            content = _relined(content, what, first, second, other)
            continue
        at = first % (len(content) + 1)
        if what == "flip" and content:
            at %= len(content)
            content = content[:at] + bytes([content[at] ^ (1 << second % 8)]) + content[at + 1 :]
        elif what == "set":
            content = content[:at] + part + content[at + len(part) :]
        elif what == "cut":
            content = content[:at] + content[at + second % 200 :]
        elif what == "end":
            content = content[:at]
        elif what == "repeat":
            content = content[:at] + content[max(0, at - second % 500) :]
        elif what == "insert":
            content = content[:at] + part + content[at:]
    return content


def _relined(content: bytes, what: str, first: int, second: int, other: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    first, second = first % len(lines), second % len(lines)
    if what == "drop line":
        del lines[first]
    elif what == "double line":
        lines.insert(second, lines[first])
    elif what == "swap lines":
        lines[first], lines[second] = lines[second], lines[first]
    elif what == "move line":
        lines.insert(second, lines.pop(first))
    elif foreign := other.splitlines(keepends=True):
        lines.insert(first, foreign[second % len(foreign)])
    return b"".join(lines)


def changed(value: Any, changes: Sequence[Change], outside: str) -> Any:
    """The value after some changes to what it holds, at any depth."""
    value = copy.deepcopy(value)
    for what, first, second, new in changes:
        places = _places(value)
        if not places:
            return placed(new, outside)
        holder, key = places[first % len(places)]
        _change(holder, key, what, second, placed(new, outside))
    return value


def _change(holder: Any, key: Any, what: str, second: int, new: Any) -> None:
    if what == "replace":
        holder[key] = new
    elif what == "delete":
        del holder[key]
    elif what == "wrap":
        holder[key] = [holder[key], holder[key]] if second % 2 else {"text": holder[key]}
    elif isinstance(holder, dict):
        taken = list(holder)[second % len(holder)]
        if what == "rename":
            holder[str(new)[:100] if second % 3 else taken] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(holder[taken])
    else:
        holder.insert(second % (len(holder) + 1), copy.deepcopy(holder[key]))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key in a value, outermost first."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 5000:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def placed(value: Any, outside: str) -> Any:
    """The value with the real path of the folder that nothing may touch."""
    return value.replace(OUTSIDE, outside) if isinstance(value, str) else copy.deepcopy(value)


def as_json(value: Any) -> bytes:
    """The value as JSON, whatever it holds."""
    return json.dumps(value, separators=(",", ":")).encode()
