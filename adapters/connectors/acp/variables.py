"""Says how the variables of an agent's command are recorded: they decide what it does, and some of them are secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
from hashlib import sha256
from typing import Any

from viva.records.redact import SECRET_NAMES, redact
from viva.records.text import counted
from viva.records.trajectory import VARIABLES, VARIABLES_CUT

MOST_RECORDED = 32 * 1024
"""Maximum number of characters of the variables that are recorded of one command, as JSON: steps are cut by that."""

MOST_REPEATED = 1_000
"""Maximum number of characters of variables that are recorded with each command that has the same ones."""

_NO_SECRETS = re.compile(r"GIT_CONFIG_KEY_\d+|BASH_FUNC_.+%%", re.DOTALL)
"""Variables that are called secrets and are none: the names of git's settings, and functions of Bash."""
_RUN = re.compile(r"""(?<![\w.-])(?:ba|da|k|z)?sh(?:\s+-[\w-]{1,40}){0,4}?\s+-\w{0,9}c[\s"']+\$\{?(\w+)""")
"""A command that has a shell run the value of a variable: `sh -c "$NAME"`."""


def recorded_variables(variables: Mapping[str, str], command: Iterable[str] = ()) -> dict[str, Any]:
    """Return the attributes of a step that say which variables a command was given, without secrets.

    The agent may have secrets that Viva does not know, such as those of its own settings. A variable that is called a
    secret is therefore recorded with its name in place of its value, unless a shell is told to run the value. The
    value itself does not show it: passwords, headers and private keys have white space and signs of the shell, too. If
    there are too many characters, the longest values are recorded as digests, and names that have no room are counted.

    Args:
        variables: The variables that the agent gave.
        command: The program and its arguments.
    """
    shown = _without_secrets(variables, frozenset(_RUN.findall("\n".join(command)[:MOST_RECORDED])))
    sizes = {name: _size(value) for name, value in shown.items()}
    if sum(map(_size, shown)) + sum(sizes.values()) <= MOST_RECORDED:
        return {VARIABLES: shown} if shown else {}
    room, kept = MOST_RECORDED, dict[str, str]()
    for name, value in shown.items():
        least = min(value, _digest(value), key=_size)
        if (taken := _size(name) + _size(least)) <= room:
            kept[name] = least
            room -= taken
    digests = 0
    for name in sorted(kept, key=sizes.__getitem__):
        more = sizes[name] - _size(kept[name])
        if more <= room:
            kept[name] = shown[name]
            room -= more
        else:
            digests += 1
    left_out = counted(len(shown) - len(kept), "further variable")
    return {VARIABLES: kept, VARIABLES_CUT: f"{counted(digests, 'value')} as digests, {left_out} left out"}


class RecordedVariables:
    """The variables of a run's commands that were recorded. Many ones that are the same are recorded once."""

    def __init__(self) -> None:
        self._where: dict[bytes, str] = {}

    def named_once(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a step's attributes; the name of the step that has the same variables takes the place of many ones.

        Args:
            attributes: The attributes, with the variables from `recorded_variables`, if it has any.
        """
        where = self._where.get(_key(attributes)) if attributes else None
        if where is None:
            return attributes
        others = {name: value for name, value in attributes.items() if name != VARIABLES_CUT}
        return {**others, VARIABLES: f"the same as in {where}"}

    def add(self, attributes: Mapping[str, Any], where: str) -> None:
        """Remember a step's variables.

        Args:
            attributes: Its attributes.
            where: What names the step.
        """
        if len(str(attributes.get(VARIABLES, ""))) > MOST_REPEATED:
            self._where.setdefault(_key(attributes), where)


def _key(attributes: Mapping[str, Any]) -> bytes:
    variables = json.dumps([attributes.get(name) for name in (VARIABLES, VARIABLES_CUT)])
    return sha256(variables.encode()).digest()


def _without_secrets(variables: Mapping[str, str], run: Container[str]) -> dict[str, str]:
    # Together: to look for the secrets takes much longer than to look at a value, and an agent may give many. No value
    # has a NUL, and no secret in an address a line break, so that none begins in one value and ends in the next.
    *values, _ = redact("".join(f"\n{value}\n\0" for value in variables.values())).split("\0")
    pairs = zip(variables, values, strict=True)
    shown = {name: value.removeprefix("\n").removesuffix("\n") for name, value in pairs}
    return {
        name: f"[{name}]" if value and name not in run and _is_secret(name) else value for name, value in shown.items()
    }


def _is_secret(name: str) -> bool:
    return SECRET_NAMES.search(name) is not None and _NO_SECRETS.fullmatch(name) is None


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))


def _digest(value: str) -> str:
    return f"[{len(value):,} characters, SHA-256 {sha256(value.encode(errors='surrogatepass')).hexdigest()}]"
