"""Derives the keys of `viva.yaml` from the options that a command declares, so that neither can lack one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from viva.cli.parameter_types import Seconds
from viva.project.keys import Key, Keys, Takes

CASES = "cases"
"""The key for the paths of a suite's cases, which are an argument on the command line."""
OF_ONE_CALL = frozenset({"fresh", "help", "listing", "resume", "retry_errors", "trust", "trust_plan", "watch"})
"""Parameters that are about one call, or that permit something to it, and have no key for that reason."""


def keys_of(command: click.Command) -> Keys:
    """Return the keys for the options of a command; its argument has the key `cases` if it takes several paths."""
    return {key.name: key for key in _keys(command)}


def _keys(command: click.Command) -> Iterator[Key]:
    for each in command.params:
        if not each.name or each.name in OF_ONE_CALL:
            continue
        if isinstance(each, click.Argument):
            if each.name == "paths":
                yield Key(CASES, each.name, each.human_readable_name, Takes.TEXT, True, partial(_converted, each))
            continue
        assert isinstance(each, click.Option)
        flag = next(name for name in each.opts if name.startswith("--"))
        name = flag.removeprefix("--").replace("-", "_")
        yield Key(name, each.name, flag, _takes(each), each.multiple, partial(_converted, each))


def _takes(option: click.Option) -> Takes:
    if option.is_flag:
        return Takes.FLAG
    if isinstance(option.type, Seconds):
        return Takes.SECONDS
    if isinstance(option.type, click.IntRange | click.types.IntParamType):
        return Takes.WHOLE
    if isinstance(option.type, click.FloatRange | click.types.FloatParamType):
        return Takes.NUMBER
    return Takes.ENTRY if (option.metavar or "").startswith("[") and "=]" in (option.metavar or "") else Takes.TEXT


def _converted(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as the option converts it.

    Raises:
        ValueError: the option refuses it.
    """
    try:
        return parameter.type.convert(value, parameter, None)
    except click.BadParameter as error:
        raise ValueError(error.message.rstrip(".")) from None
