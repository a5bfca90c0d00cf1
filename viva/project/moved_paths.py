"""Rewrites the relative paths in the values of options, when the folder to which they are relative changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viva.adapters.connectors.spec import SCHEMES, is_agent_file
from viva.adapters.connectors.varied_spec import TEXT_ENDINGS, VariedSpec, split_settings
from viva.exam.options import MODEL_FILES
from viva.plugins.parameters import split_list
from viva.project.forms import FORMS, OptionForm

_FILE_FIRST = re.compile(r"(?P<file>[^:(]*\.py)(?P<rest>:.*)", re.DOTALL)
_FILE_SINKS = frozenset({"jsonl", "csv", "evaluation_log"})


def moved(values: Mapping[str, Any], before: Path, now: Path) -> dict[str, Any]:
    """Return values whose relative paths mean in one folder what they meant in another.

    Args:
        values: By the name of the command's parameter.
        before: The folder to which paths in the values are relative.
        now: The folder to which they shall be relative.
    """
    if before == now:
        return dict(values)
    return {name: _moved(FORMS.get(name, OptionForm.PLAIN), value, before, now) for name, value in values.items()}


def _moved(form: OptionForm, value: Any, before: Path, now: Path) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_moved(form, each, before, now) for each in value)
    if isinstance(value, Path):
        return Path(_path(str(value), before, now))
    if not isinstance(value, str) or form is OptionForm.PLAIN:
        return value
    match form:
        case OptionForm.PATH | OptionForm.OUTPUT | OptionForm.ANSWERS:
            return _path(value, before, now)
        case OptionForm.JOURNAL | OptionForm.CASES:
            return _existing(value, before, now)
        case OptionForm.AGENT:
            return _agent(value, before, now)
        case OptionForm.VARIED:
            return _varied(value, before, now)
        case OptionForm.PARTS:
            return ",".join(_import_string(part, before, now) for part in split_list(value))
        case OptionForm.SINK:
            return _sink(value, before, now)
        case OptionForm.MODEL:
            return _path(value, before, now) if value.endswith(MODEL_FILES) else value
        case OptionForm.QUESTIONS if value.startswith("replay:"):
            return f"replay:{_existing(value.removeprefix('replay:'), before, now)}"
        case _:
            return value


def _path(text: str, before: Path, now: Path) -> str:
    if os.path.isabs(text) or text.startswith("~"):
        return text
    slash = "/" if text.endswith("/") else ""
    return os.path.relpath(before / text, now) + slash


def _existing(text: str, before: Path, now: Path) -> str:
    """Return a path, with what follows its last `#`, if there is such a file; other text is a name, and stays."""
    if os.path.lexists(before / text):
        return _path(text, before, now)
    journal, mark, run = text.rpartition("#")
    return _path(journal, before, now) + mark + run if mark and os.path.lexists(before / journal) else text


def _agent(spec: str, before: Path, now: Path) -> str:
    varied = split_settings(spec)
    if varied.settings:
        settings = {name: _text_file(value, before, now) for name, value in varied.settings.items()}
        return str(VariedSpec(_agent(varied.base, before, now), settings))
    scheme, _, rest = spec.partition(":")
    if scheme in ("taskweaver", "replay"):
        return f"{scheme}:{_existing(rest, before, now)}"
    if scheme in ("cmd", "cmd+plain", "acp"):
        return f"{scheme}:{' '.join(_word(word, before, now) for word in rest.split(' '))}"
    if scheme in SCHEMES:
        return spec
    if is_agent_file(spec):
        return _path(spec, before, now)
    part, at, environment = spec.partition("@")
    return _import_string(part, before, now) + at + (_existing(environment, before, now) if at else "")


def _text_file(value: str, before: Path, now: Path) -> str:
    return _path(value, before, now) if value.endswith(TEXT_ENDINGS) else value


def _varied(text: str, before: Path, now: Path) -> str:
    """Return what `--vary` takes, with the paths of files whose texts are values."""
    name, equals, values = text.partition("=")
    moved = (
        f"{part[: len(part) - len(part.lstrip())]}{_text_file(part.strip(), before, now)}" for part in values.split(",")
    )
    return name + equals + ",".join(moved)


def _word(word: str, before: Path, now: Path) -> str:
    """Return a word of a command: a path if there is such a file, and if it looks like one."""
    option, equals, value = word.rpartition("=")
    is_file = ("/" in value or "." in value) and os.path.lexists(before / value)
    return option + equals + _path(value, before, now) if is_file else word


def _import_string(text: str, before: Path, now: Path) -> str:
    found = _FILE_FIRST.fullmatch(text)
    return text if found is None else _path(found["file"], before, now) + found["rest"]


def _sink(spec: str, before: Path, now: Path) -> str:
    kind, colon, argument = spec.partition(":")
    if kind in _FILE_SINKS and argument:
        return kind + colon + _path(argument, before, now)
    return _import_string(spec, before, now)
