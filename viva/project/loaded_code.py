"""Says what the values of a `viva.yaml` would run, load, or send somewhere, so that a person can decide on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.adapters.connectors.spec import FILE_ENDINGS, SCHEMES, agent_file_of
from viva.adapters.connectors.varied_spec import TEXT_ENDINGS, split_settings
from viva.exam.options import MODEL_FILES
from viva.plugins.parameters import split_list
from viva.project.forms import FORMS, OptionForm

SAFE_SCHEMES = frozenset({"example", "replay"})
COMMANDS = frozenset({"cmd", "cmd+plain", "acp"})
ADDRESSES = frozenset({"http", "https", "a2a"})
ISOLATING = frozenset({"docker", "bwrap"})
_NAME_ALONE = re.compile(r"\w+(\([^:\\]*\))?")
"""The name of a part that is installed, perhaps with parameters. Neither it nor a parameter can be an import string,
which has a colon; in a literal, an escape can stand for one."""
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?")
CHECKS = "sandbox"
"""The parameter that decides where the code in cases runs."""


def loaded_code(values: Mapping[str, Any], folder: Path, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a phrase for each thing that values of a file would load, run, or send somewhere.

    Args:
        values: The values that come from the file, by parameter.
        folder: The file's folder.
        given: All values of the command, by parameter; those that the user typed need no trust.
    """
    for name, value in values.items():
        form = FORMS.get(name)
        if form is None:
            yield f"sets {name}, of which nothing is known here"
        elif value not in (None, False, ()):
            for each in value if isinstance(value, tuple | list) else (value,):
                words = _words(form, name, each, folder)
                if words is not None:
                    yield words
                if form is OptionForm.AGENT:
                    for setting, text in split_settings(str(each)).settings.items():
                        yield from _set(setting, [text], folder)
    if _checks_in_the_open(values, given):
        yield "runs the eval_code of its cases without a sandbox where there is neither Docker nor bubblewrap"


def settings_files(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that values name and that, like `viva.yaml`, name code or addresses: of agents and of models."""
    for name, value in values.items():
        form = FORMS.get(name)
        for each in _texts(value):
            if form is OptionForm.AGENT and (file := agent_file_of(each)) is not None:
                yield file
            elif form is OptionForm.MODEL and each.endswith(MODEL_FILES):
                yield each


def _words(form: OptionForm, name: str, value: Any, folder: Path) -> str | None:
    match form:
        case OptionForm.AGENT:
            return _agent(str(value))
        case OptionForm.PARTS:
            own = [part for part in split_list(str(value)) if _NAME_ALONE.fullmatch(part) is None]
            return f"imports {', '.join(own)}" if own else None
        case OptionForm.VARIED:
            setting, _, rest = str(value).partition("=")
            return " and ".join(_set(setting, [part.strip() for part in rest.split(",")], folder)) or None
        case OptionForm.SINK:
            return f"sends the completed runs to {value}"
        case OptionForm.MODEL:
            return f"loads the model in {value}" if str(value).endswith(MODEL_FILES) else None
        case OptionForm.SANDBOX:
            return "runs the eval_code of its cases without a sandbox" if value == "process" else None
        case OptionForm.PERMISSION:
            return f"permits --{name.replace('_', '-')}: commands and packages that its cases name"
        case OptionForm.CLUSTER:
            return None if value == "local" else f"sends its work to a Ray cluster ({name} {value})"
        case OptionForm.ANSWERS:
            return f"takes answers of the examiner's and the judges' models from {value}"
        case OptionForm.OUTPUT:
            return None if _is_inside(value, folder) else f"writes its journal to {value}"
        case _:
            return None


def _is_inside(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))


def _agent(spec: str) -> str | None:
    spec = split_settings(spec).base
    scheme = _scheme(spec)
    if scheme in SAFE_SCHEMES:
        return None
    if scheme in COMMANDS:
        return f"starts the program {spec}"
    if scheme in ADDRESSES:
        return f"talks to {spec}, and sends it the key in VIVA_AGENT_API_KEY"
    return f"starts the agent of the file {spec}" if spec.endswith(FILE_ENDINGS) else f"runs the code of {spec}"


def _set(name: str, values: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield what is said of a setting of agents: it may be any key of an agent file."""
    outside = [each for each in values if each.endswith(TEXT_ENDINGS) and not _is_inside(each, folder)]
    others = [each for each in values if each not in outside and _NUMBER.fullmatch(each) is None]
    if outside:
        yield f"gives its agents the text of {', '.join(outside)}"
    if others:
        yield f"sets {name} of its agents to {', '.join(others)}"


def _scheme(spec: str) -> str:
    scheme = spec.partition(":")[0]
    return scheme if scheme in SCHEMES else ""


def _checks_in_the_open(values: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether code in cases that the file names may run without isolation, and the user did not ask for that."""
    if not values.get("paths") or given.get("judge") == "model":
        return False
    return given.get(CHECKS) not in (*ISOLATING, "process")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()
