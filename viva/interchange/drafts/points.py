"""Scoring points as an importer writes them: checks without code, and statements for everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viva.interchange.drafts.spelling import text_of
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

Point = dict[str, Any]
Check = dict[str, Any]

LONGEST_NAME = 200
"""Maximum number of characters of the name of a tool in a check."""
DEEPEST = 18
"""Maximum depth of the arguments in a check."""
LONGEST = 10_000
MOST = 100
"""Maximum number of texts in a check, and of characters in each."""


def check_point(check: Mapping[str, Any], number: int | None = None, **others: Any) -> Point:
    """Return a point with a check.

    Args:
        check: As in a case file.
        number: The round that it is about; None for what is usual for its kind.
        others: Further fields of the point; None stands for a field that is left out.
    """
    over = {} if number is None else {"over": {"round": number}}
    return {"check": {**check, **over}, **{key: value for key, value in others.items() if value is not None}}


def text_point(kind: str, texts: Sequence[str], *, ignore_case: bool = False, instead: str = "") -> Point | str:
    """Return a point that looks for texts in the last reply, any of which will do.

    Args:
        kind: `contains`, `equals`, `starts_with` or `ends_with`.
        texts: The texts.
        ignore_case: Whether capital and small letters count as the same.
        instead: The statement, without the texts, of a point that a model judges if they do not fit into a check.
    """
    if len(texts) > MOST or any(not text or len(text) > LONGEST for text in texts):
        return instead + "\nor: ".join(texts)
    several: Any = texts[0] if len(texts) == 1 else list(texts)
    if not ignore_case and (kind != "contains" or len(texts) == 1):
        return check_point({kind: several})
    key = ("any" if len(texts) > 1 else "all") if kind == "contains" else "text"
    return check_point({kind: {key: several, **({"ignore_case": True} if ignore_case else {})}})


def tool_called(name: str, arguments: Mapping[str, Any] | None = None, *, times: int = 1, exact: bool = False) -> Check:
    """Return the check that a tool was called.

    Args:
        name: The tool.
        arguments: What a call must have; None if any arguments will do.
        times: The number of calls, at least.
        exact: Whether a call must have no other arguments.
    """
    if not arguments and times == 1 and not exact:
        return {"tool_called": name}
    wanted: dict[str, Any] = {"name": name}
    if arguments or exact:
        wanted["arguments"] = dict(arguments or {})
    if exact:
        wanted["exact"] = True
    if times > 1:
        wanted["times"] = {"min": times}
    return {"tool_called": wanted}


def expected_call(name: Source | None, arguments: Source | None) -> dict[str, Any]:
    """Return an expected call, as a reference trajectory has it.

    Args:
        name: Of the tool.
        arguments: A mapping, which may be missing; anything else is reported.
    """
    given: dict[str, Any] = {}
    if arguments is not None and arguments.is_mapping:
        given = dict(arguments.take())
    elif arguments is not None:
        arguments.report(Gap.NO_HOME, "arguments of a call are a mapping")
    return {"tool": text_of(name, "the name of a tool"), "arguments": given}


def is_checkable(call: Mapping[str, Any]) -> bool:
    """Return whether a check can be made of a call: its tool has a name, and its arguments are no deep tree."""
    return 0 < len(call["tool"]) <= LONGEST_NAME and _depth(call["arguments"]) < DEEPEST


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(each) for each in inner), default=0)


def state_point(state: Source) -> Point | None:
    """Return the point that the agent's state has these values at its end; None if no check can say so."""
    if not state.is_mapping or len(state.peek()) > MOST or _depth(state.peek()) >= DEEPEST:
        return None
    if any(value is None for value in state.peek().values()):
        return None
    if any(not key or len(key) > LONGEST_NAME or {'"', "'"} <= set(key) for key in state.peek()):
        return None
    checks: list[Check] = []
    for key, value in state.items():
        mark = "'" if '"' in key else '"'
        checks.append({"state": {"path": f"[{mark}{key}{mark}]", "equals": value.take()}})
    return check_point(checks[0] if len(checks) == 1 else {"all": checks})


def does_not_happen(text: str) -> str:
    """Return the statement that something did not happen."""
    return f"This does not happen: {text}"
