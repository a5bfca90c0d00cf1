"""Parses agent SPECs without importing anything, and without checking whether the parts exist."""

from __future__ import annotations

import difflib
import re
import shutil
from pathlib import PurePath

from viva.adapters.connectors.varied_spec import split_settings
from viva.errors import SetupError
from viva.records.text import one_line

FORMS = (
    "package.module:Class, path/to/file.py:Class, either one followed by @/path/to/venv, http(s)://host/v1#model, "
    "a2a:http(s)://host, cmd:COMMAND, cmd+plain:COMMAND, acp:COMMAND, taskweaver:PROJECT, "
    "an agent file (path/to/file.yaml), replay:JOURNAL, or example:NAME"
)
"""The forms of an agent SPEC, besides those that plugins add."""
LONGEST_LABEL = 24
LONGEST_SETTINGS = 60
CHILD = re.compile(r"(?P<module>.+):(?P<name>[^\W\d]\w*)@(?P<python>.+)", re.DOTALL)
"""A class, and the environment in which it runs."""
OWN_CONNECTOR = re.compile(r"(?P<part>[^:]+:[^\W\d]\w*):.*", re.DOTALL)
"""A connector named by import string, and the rest of the SPEC."""
SCHEMES = ("http", "https", "a2a", "cmd", "cmd+plain", "acp", "taskweaver", "replay", "example")
"""What stands before the first colon of the built-in forms that name no class."""
FILE_ENDINGS = (".yaml", ".yml")
"""The endings of agent files."""
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_ADDRESS = re.compile(
    r"(?P<host>[\w.-]+|\[[\da-fA-F:.]+\]):(?P<port>\d{1,5})(?P<path>/[^#]*)?(?P<model>#.*)?", re.DOTALL
)
_FILE_ALONE = re.compile(r"(?P<file>[^@]+\.py)@(?P<python>[^:]+)", re.DOTALL)
_ENVIRONMENT_FIRST = re.compile(r"(?P<module>.+\.py|[\w.]+)@(?P<python>[^:]+)", re.DOTALL)


def class_of(spec: str) -> tuple[str, str]:
    """Return the module or file and the class of a SPEC; the class is empty if the SPEC is only a file.

    Raises:
        SetupError: the text is not a SPEC.
    """
    module, colon, name = spec.rpartition(":")
    if not colon and spec.endswith(".py"):
        module, name = spec, ""
    if not module:
        if alone := _FILE_ALONE.fullmatch(spec):
            meant = f"{alone['file']}:Class@{alone['python']}"
            raise SetupError(f"{alone['file']!r} does not say which class, function or object; write {meant}.")
        raise SetupError(f"{spec!r} is not an agent SPEC.{_program_meant(spec)} Use {FORMS}.")
    if module == "openai":
        raise SetupError(
            f"{spec!r} names a model, not an agent. An agent behind an OpenAI-compatible endpoint is named by its "
            f"address: --agent https://api.openai.com/v1#{name or 'MODEL'}"
        )
    if not module.endswith(".py") and (address := _ADDRESS.fullmatch(spec)):
        path, model = address["path"] or "/v1", address["model"] or "#MODEL"
        meant = f"http://{address['host']}:{address['port']}{path.rstrip('/')}{model}"
        raise SetupError(f"{spec!r} is an address without its scheme; write {meant} (or https://…).")
    if not module.endswith(".py") and (first := _ENVIRONMENT_FIRST.fullmatch(module)):
        meant = f"{first['module']}:{name or 'Class'}@{first['python']}"
        raise SetupError(f"{spec!r} names the environment before the class; write {meant}")
    if name and not _NAME.fullmatch(name):
        raise SetupError(
            f"{spec!r} is not an agent SPEC: {name!r} cannot be a class.{connector_meant(module, name)} Use {FORMS}."
        )
    return module, name


def _program_meant(spec: str) -> str:
    """Return what to write if the text begins with a program of this machine; empty if it does not."""
    words = spec.split()
    if not words or shutil.which(words[0]) is None:
        return ""
    return f" If it is a program, write cmd:{spec} (it speaks JSON) or cmd+plain:{spec} (it is made for people)."


def connector_meant(module: str, name: str) -> str:
    """Return a question that suggests a connector whose name is near a module that does not exist; empty if none is."""
    near = difflib.get_close_matches(module, SCHEMES, 1, 0.7)
    return f" Did you mean {near[0]}:{name}?" if near else ""


def is_agent_file(spec: str) -> bool:
    """Return whether a SPEC without settings that names no connector is the path of an agent file."""
    return spec.endswith(FILE_ENDINGS)


def agent_file_of(spec: str) -> str | None:
    """Return the path of the agent file that a SPEC names, whatever settings follow it; None if it names none."""
    base = split_settings(spec).base
    return base if base.partition(":")[0] not in SCHEMES and is_agent_file(base) else None


def agent_label(spec: str) -> str:
    """Return a short form of a SPEC for reports.

    It is the class, the model, the example, a command without its folders, the name of an agent file without its
    ending, or the journal of a replay.
    """
    varied = split_settings(spec)
    if varied.settings:
        values = ", ".join(f"{name}={value}" for name, value in varied.settings.items())
        return f"{agent_label(varied.base)}[{one_line(values, LONGEST_SETTINGS)}]"
    scheme, _, rest = spec.partition(":")
    if scheme in ("http", "https"):
        address, _, model = rest.partition("#")
        label = model or address.strip("/")
    elif scheme == "a2a":
        label = rest.partition("://")[2].strip("/")
    elif scheme == "replay":
        journal, _, run = rest.rpartition("#")
        label = f"replay:{run if journal else rest.rstrip('/').rpartition('/')[2]}"
    elif scheme in ("cmd", "cmd+plain", "acp"):
        label = " ".join(PurePath(word).name or word for word in rest.split())
    elif scheme not in SCHEMES and is_agent_file(spec):
        label = PurePath(spec).stem
    elif match := CHILD.fullmatch(spec):
        label = match["name"]
    else:
        module, _, name = spec.rpartition(":")
        label = name or module
    return one_line(label or spec, LONGEST_LABEL)
