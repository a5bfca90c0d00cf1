"""The commands that the pages about agents print, and a folder with a shell in which they can be typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.ports import free_port
from tests.viva.pytest_plugin.sessions import WITHOUT_OTHERS
from tests.viva.viva_command import in_this_process

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "agents"
SECONDS = 600
"""Time for the commands of a page, on a busy machine."""


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a page in a language; the empty text means those without one."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> list[str]:
    """Return the commands that a reader of a page is told to type, in order."""
    typed = [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    return typed + [line for block in blocks(page, "") for line in block.splitlines() if line.startswith("pytest ")]


def files_of(page: str) -> dict[str, str]:
    """Return the files that a page shows, by name; the first one of a name."""
    found: dict[str, str] = {}
    for language in ("py", "python", "yaml"):
        for block in blocks(page, language):
            named = re.match(r"# ([\w./-]+)\n", block)
            assert named, f"{page}: the first line of a block must say which file it is"
            found.setdefault(named[1], block)
    return found


class Reader:
    """A reader of a page: has its files, the examples and the programs, and types its commands."""

    def __init__(self, folder: Path, texts: Mapping[str, str]) -> None:
        """Args:
        folder: The folder in which the commands are typed.
        texts: The programs `viva` and `pytest`.
        """
        self.folder = folder
        self.replaced: dict[str, str] = {}
        """What stands for something else on this machine: ports, and environments."""
        self.environment = {
            "HOME": str(folder / "home"),
            "DOCKER_HOST": f"unix://{folder}/no-daemon",
            "PYTEST_ADDOPTS": " ".join(WITHOUT_OTHERS),
        }
        programs = folder / "bin"
        programs.mkdir()
        (folder / "home").mkdir()
        python = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
        for name, text in {"python": python, "python3": python, **texts}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.paths = [str(programs)]

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the folder."""
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._here(text), encoding="utf-8")

    def copy_examples(self) -> None:
        """Put the examples where the pages say they are."""
        shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for file in (self.folder / "examples" / "agents").rglob("*.yaml"):
            file.write_text(self._here(file.read_text()))

    def port(self, printed: int) -> int:
        """Return a free port, which stands for one that the page prints."""
        found = free_port()
        self.replaced[str(printed)] = str(found)
        return found

    def link(self, place: str, environment: Path) -> None:
        """Put an environment where the page says it is."""
        if os.path.isabs(place):
            self.replaced[place] = str(environment)
            return
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / place).symlink_to(environment)

    def type(self, *commands: str) -> str:
        """Type commands into one shell, and return what they printed; each must succeed.

        Programs that they leave in the background end with the shell.
        """
        lines = ["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", *map(self._here, commands)]
        path = os.pathsep.join([*self.paths, os.environ["PATH"]])
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "VIVA_"))}
        environment = {**inherited, "PYTHONPATH": str(ROOT), **self.environment, "PATH": path}
        with (self.folder / "printed.txt").open("w+") as printed:
            done = subprocess.run(
                ["bash", "-c", "\n".join(lines)],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            )
            printed.seek(0)
            text = printed.read()
        assert done.returncode == 0, f"ended with {done.returncode}: {commands}\n{text}"
        return text

    def type_viva(self, *commands: str) -> str:
        """Type commands of Viva alone, which run in this process, and return what they printed; each must succeed."""
        printed = ""
        for command in map(self._here, commands):
            program, *words = shlex.split(command)
            assert program == "viva"
            done = in_this_process(*words, cwd=self.folder, environment=self.environment)
            assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
            printed += done.stdout + done.stderr
        return printed

    def _here(self, text: str) -> str:
        text = text.replace("=…", "=the-key-of-the-reader")
        for printed, here in self.replaced.items():
            text = re.sub(rf"(?<![\w.]){re.escape(printed)}\b", here, text)
        return text
