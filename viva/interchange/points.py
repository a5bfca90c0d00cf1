"""Scoring points as an importer writes them: checks without code, and statements for what is no check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Point = dict[str, Any]
Check = dict[str, Any]

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


def tool_called(
    name: str, arguments: Mapping[str, Any] | None = None, *, times: int = 1, exact: bool = False
) -> Check:
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


def does_not_happen(text: str) -> str:
    """Return the statement that something did not happen."""
    return f"This does not happen: {text}"
