"""A SPEC with settings of the agent in brackets behind it: `my_agent.py:Agent[temperature=0.7,system=short.md]`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TEXT_ENDINGS = (".md", ".txt")
"""A value with one of these endings names a file, whose text is the value."""
SETTING_NAME = r"[A-Za-z_][\w.-]*"
_VALUE = r'"(?:[^"\\]|\\.)*"|[^\[\]",]*'
_SETTING = re.compile(rf"(?P<name>{SETTING_NAME})=(?P<value>{_VALUE})", re.DOTALL)
_SETTINGS = re.compile(
    rf"(?P<base>.*[^\s\[])\[(?P<settings>{SETTING_NAME}=(?:{_VALUE})(?:,{SETTING_NAME}=(?:{_VALUE}))*)\]", re.DOTALL
)
_PLAIN = re.compile(r'[^\[\]",\s](?:[^\[\]",]*[^\[\]",\s])?')


@dataclass(frozen=True, slots=True)
class VariedSpec:
    """A SPEC, and the settings in brackets behind it."""

    base: str
    settings: Mapping[str, str]
    """The values as they are written, by name; empty without brackets."""
    doubled: str = ""
    """The first setting that is given twice; empty if none is."""

    def __str__(self) -> str:
        """Return the SPEC with the settings."""
        if not self.settings:
            return self.base
        return f"{self.base}[{','.join(f'{name}={_quoted(value)}' for name, value in self.settings.items())}]"

    def files(self) -> list[Path]:
        """Return the files whose texts are values."""
        return [Path(value) for value in self.settings.values() if value.endswith(TEXT_ENDINGS)]


def split_settings(spec: str) -> VariedSpec:
    """Return a SPEC without its settings, and the settings."""
    found = _SETTINGS.fullmatch(spec)
    if found is None:
        return VariedSpec(spec, {})
    settings: dict[str, str] = {}
    doubled = ""
    for each in _SETTING.finditer(found["settings"]):
        if each["name"] in settings:
            doubled = doubled or each["name"]
        settings[each["name"]] = _unquoted(each["value"])
    return VariedSpec(found["base"], settings, doubled)


def _quoted(value: str) -> str:
    return value if not value or _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]
