"""Reads the command of a program, as it would be typed into a shell, but without one."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError

OPERATORS = frozenset({"|", "||", "|&", "&", "&&", ";", "<", "<<", ">", ">>", ">&", "&>", "2>", "2>>", "2>&1"})
"""Words that only a shell understands."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command whose program exists, with absolute paths, because it runs in another folder."""

    program: str
    """The absolute path of the file that is run."""
    words: tuple[str, ...]
    """All words; the first is the program's name."""
    script: str | None = None
    """The absolute path of the first word that is a file of the user's: a script, or the program itself."""


def read_command(command: str | Sequence[str], folder: Path, mistake: Callable[[str], SetupError]) -> CommandLine:
    """Split a command into words, find its program, and make the paths in it absolute.

    A word with a slash or a dot in it (or the part after the first `=`, of an option such as `--config=my/file`) that
    is the path of an existing file or folder becomes absolute. All other words stay as they are.

    Args:
        command: The text, which is split by the rules of a POSIX shell, or the words.
        folder: The folder to which paths are relative.
        mistake: Makes the error for a mistake in the command.

    Raises:
        SetupError: the quotes do not match, there is no such program, or it cannot be run.
    """
    words = list(command) if not isinstance(command, str) else _split(command, mistake)
    if not words or not words[0]:
        raise mistake("it names no program; write cmd:COMMAND, as in cmd:node my_agent.js")
    if any("\0" in word for word in words):
        raise mistake("a NUL character cannot be part of a command")
    program = _find(words[0], folder, mistake)
    paths = [absolute(word, folder) for word in words[1:]]
    files = [path for path in paths if os.path.isabs(path) and os.path.isfile(path)]
    own = files[0] if files else program if "/" in words[0] else None
    return CommandLine(program, (words[0], *paths), own)


def _split(command: str, mistake: Callable[[str], SetupError]) -> list[str]:
    try:
        words, quoted = shlex.split(command), shlex.split(command, posix=False)
    except ValueError as error:
        raise mistake(f"the command cannot be split into words: {str(error).lower()}") from None
    for word in quoted:
        if word in OPERATORS:
            raise mistake(f"{word} means something to a shell only; write cmd:bash -c '…' to use one, or quote it")
    return words


def _find(name: str, folder: Path, mistake: Callable[[str], SetupError]) -> str:
    if "/" not in name:
        if found := shutil.which(name):
            return os.path.abspath(found)
        advice = ""
        if (folder / name).is_file():
            advice = f", but a file here: write ./{name} if it can be run, or name its interpreter first"
        elif "=" in name:
            advice = "; variables are set in the environment of Viva, or by the program env: cmd:env NAME=VALUE …"
        raise mistake(f"there is no program {name!r} on the PATH{advice}")
    file = Path(os.path.abspath(folder / Path(name).expanduser()))
    if not file.exists():
        raise mistake(f"there is no program {name}")
    if file.is_dir():
        raise mistake(f"{name} is a folder, not a program")
    if not os.access(file, os.X_OK):
        raise mistake(f"{name} is not executable: name its interpreter first, as in cmd:bash {name}, or use chmod +x")
    return str(file)


def absolute(word: str, folder: Path) -> str:
    """Return a word as an absolute path if it is the path of an existing file or folder, or else unchanged.

    Args:
        word: The word, or an option with a value (`--config=my/file`).
        folder: The folder to which paths are relative.
    """
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if "/" not in value and "." not in value:
        return word
    path = Path(value)
    try:
        path = path.expanduser() if value.startswith("~/") else path
        found = os.path.lexists(folder / path)
    except (OSError, ValueError, RuntimeError):
        return word
    return f"{option}{equals}{os.path.abspath(folder / path)}" if found else word
