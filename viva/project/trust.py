"""Remembers which files the user trusts. A file is trusted by its content and its folder, so a changed one is not.

What is trusted is `viva.yaml`, with the agent files and model files that it names, because they name programs and
addresses, too. The code that all these name may change: it is what is developed and tested.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from viva.errors import SetupError
from viva.project.finding import FoundFile
from viva.project.loaded_code import loaded_code, settings_files
from viva.project.reading import Project
from viva.records.text import one_line
from viva.regular_files import MOST_GIVEN, open_linked, open_plain
from viva.suites.resuming.signature import checked_signature, key_file, signed

FOLDER = "trusted"
MOST_SHOWN = 20


def digest_of(project: Project) -> str:
    """Return the SHA-256 of what is trusted: the file, its folder, and the settings files that it names."""
    file = project.file
    named = {name for section in project.sections() for name in settings_files(section.values)}
    others = [(name, _digest(file.folder / name)) for name in sorted(named)]
    whole = [str(file.path), file.digest, others]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def all_code(project: Project) -> list[str]:
    """Return what the sections of a file would load, run or send somewhere, each once."""
    file = project.file
    return list(
        dict.fromkeys(
            words
            for section in project.sections()
            for words in loaded_code(section.values, file.folder, section.values)
        )
    )


def is_trusted(digest: str) -> bool:
    """Return whether the user has trusted this content, in this folder, before."""
    try:
        with open_plain(_folder() / f"{digest}.json") as stream:
            data, ours = checked_signature(stream.read(MOST_GIVEN))
    except (OSError, ValueError):
        return False
    return ours and data.get("digest") == digest


def trust(project: Project, digest: str) -> None:
    """Remember that the user trusts a file.

    Args:
        project: The file.
        digest: Of what the user was shown.

    Raises:
        SetupError: it has changed since then, or nothing can be stored on this machine.
    """
    if digest_of(project) != digest:
        raise SetupError(f"a file that {project.file.path} names has just changed; nothing was trusted. Try again.")
    fact = {"file": str(project.file.path), "digest": digest, "trusted": int(time.time())}
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folder / f".{digest}.{os.getpid()}"
        part.write_bytes(signed(json.dumps(fact).encode()))
        part.replace(folder / f"{digest}.json")
    except OSError as error:
        raise SetupError(f"it cannot be remembered in {folder}: {error.strerror}. Use --trust in each call.") from error
    if not is_trusted(digest):
        raise SetupError(f"it cannot be remembered: {key_file()} cannot be written. Use --trust in each call.")


def forget(digest: str) -> bool:
    """Forget that a content was trusted, and return whether it was."""
    with contextlib.suppress(OSError):
        (_folder() / f"{digest}.json").unlink()
        return True
    return False


def refusal(file: FoundFile, code: Sequence[str], how: str) -> str:
    """Return the message that a file is not trusted.

    Args:
        file: The file.
        code: What it would run.
        how: How this call is trusted, such as `--trust`.
    """
    again = f"If you trust all of this: viva trust {one_line(str(file.path), 500)} (until it changes), or {how} (once)."
    whose = f" It belongs to {file.owner_name}." if file.is_strangers else ""
    return f"{file.path} is not trusted on this machine, or has changed.{whose} It {listed(code)}. {again}"


def listed(code: Iterable[str]) -> str:
    """Return phrases as one."""
    words = [one_line(each, 200) for each in code]
    more = f"; and {len(words) - MOST_SHOWN} more" if len(words) > MOST_SHOWN else ""
    return "; ".join(words[:MOST_SHOWN]) + more if words else "runs no code of its own"


def _digest(path: Path) -> str:
    """Return the SHA-256 of a settings file; empty if it cannot be read, and so cannot be used either."""
    try:
        with open_linked(path) as stream:
            content = stream.read(MOST_GIVEN + 1)
    except OSError:
        return ""
    return hashlib.sha256(content).hexdigest() if len(content) <= MOST_GIVEN else ""


def _folder() -> Path:
    return key_file().parent / FOLDER
