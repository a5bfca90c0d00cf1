"""Converts the options of an exam for pytest's parser; the command line uses the same fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from typing import Any

from viva.exam.durations import seconds_in
from viva.exam.option_declaration import Option, Part, Value

OPTIONS = (Part.JUDGE, Part.EXAMINER, Part.AGENT, Part.SUITE)


def name_of(option: Option) -> str:
    """Return the plugin's name for an option of `viva run`."""
    return f"--viva-{option.flag.removeprefix('--')}"


def declared(field: Field[Any], option: Option) -> dict[str, Any]:
    """Return the argparse arguments for a field of `Options`."""
    if option.value is Value.FLAG:
        return {"action": "store_true", "help": option.help}
    words = option.default_words or ("" if field.default in (None, ()) else f"{field.default:g}")
    kinds = {Value.COUNT: whole(option.least), Value.SECONDS: _seconds}
    help_ = option.help + (f" (default: {words})" if words else "")
    more: dict[str, Any] = {"choices": option.choices} if option.choices else {"metavar": option.metavar or "N"}
    if option.value in kinds:
        more["type"] = kinds[option.value]
    if option.value in (Value.TEXTS, Value.MODELS):
        return {"action": "append", "default": [] if option.value is Value.TEXTS else None, "help": help_, **more}
    return {"default": field.default, "help": help_, **more}


def share(text: str) -> float:
    """Read a number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def whole(least: int) -> Callable[[str], int]:
    """Return a function that reads a whole number of at least `least`."""

    def count(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError
        return value

    # argparse names the type in its error message.
    count.__name__ = "whole number above 0" if least == 1 else f"whole number of at least {least}"
    return count


def _seconds(text: str) -> float:
    value = seconds_in(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


# argparse names the type in its error message.
share.__name__, _seconds.__name__ = "number from 0 to 1", "number above 0"
