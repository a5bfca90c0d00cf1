"""Reads the parameters of an agent's requests, which may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp.exceptions import RequestError

Params = Mapping[str, Any]


def count_in(params: Params, key: str) -> int | None:
    """Return a number that is not negative; None if the request has none.

    Raises:
        RequestError: it is something else.
    """
    value = params.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RequestError.invalid_params({"details": f"{key} is not a count"})
    return value


def command_in(params: Params) -> list[str]:
    """Return a program and its arguments.

    Raises:
        RequestError: they are not text, or the arguments are not a list.
    """
    command = [params.get("command"), *_list_in(params, "args")]
    if not all(isinstance(part, str) and "\0" not in part for part in command) or not command[0]:
        raise RequestError.invalid_params({"details": "command and args are not text"})
    return [str(part) for part in command]


def variables_in(params: Params) -> dict[str, str]:
    """Return variables by name.

    Raises:
        RequestError: they are not a list of names and values.
    """
    found = {}
    for each in _list_in(params, "env"):
        name, value = (each.get("name"), each.get("value")) if isinstance(each, Mapping) else (None, None)
        if not (
            isinstance(name, str) and isinstance(value, str) and name and "=" not in name and "\0" not in name + value
        ):
            raise RequestError.invalid_params({"details": "env is not a list of names and values"})
        found[name] = value
    return found


def _list_in(params: Params, key: str) -> list[Any]:
    value = params.get(key)
    if value is not None and not isinstance(value, list):
        raise RequestError.invalid_params({"details": f"{key} is not a list"})
    return value or []
