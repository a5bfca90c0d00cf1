"""Runs the commands of pages, and writes what they print below them: `python -m docs.site.outputs`.

On these pages, a command is followed by the beginning of its real output; `…` stands for the rest. The files
that a page shows, the examples and the bundled cases are in the folder in which the commands are run. A test compares.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("index.md", "gallery.md", "coming-from.md")
SILENT = ("pip", "export")
"""Programs that are not run here."""
END = re.compile(r"\s*$|tag\s+┃")
"""The line before which an output is cut: an empty one, or the table of figures by tag."""
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PASSING = re.compile(r"\b\d+(\.\d+)? s\b|^seconds per run.*$", re.MULTILINE)
"""What differs from one time to the next."""
Run = Callable[[list[str], Path], str]
"""Runs one command in a folder, and returns what it printed on stdout."""


def prepare(page: Path, folder: Path) -> None:
    """Write the files that the page shows, the examples and the bundled cases into a folder."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for case in (ROOT / "cases").iterdir():
        if case.is_dir() and any(case.glob("*.yaml")):
            shutil.copytree(case, folder / "cases" / case.name)
    for language, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        named = re.match(r"# ([\w./-]+)\n", text) if language in ("yaml", "python") else None
        if name := title or (named[1] if named else ""):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each command of a page with the output below it."""
    for language, _, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def words_of(command: str) -> list[str]:
    """Return the words of a command whose output is shown; none of those that install, or that require a key."""
    words = shlex.split(command)
    return [] if words[0] in SILENT or "openai:" in command else words


def shown(output: str) -> str:
    """Return the beginning of an output."""
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    cut = next((number for number, line in enumerate(lines) if END.match(line)), len(lines))
    return "".join(f"{line}\n" for line in (*lines[:cut], *(["  …"] if cut < len(lines) else [])))


def without_times(output: str) -> str:
    """Return the output without what differs from one time to the next."""
    return PASSING.sub("", output)


def rewritten(page: Path, run: Run, folder: Path) -> str:
    """Return the text of a page with the output of all its commands."""

    def block(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        parts = []
        for part in re.split(r"^\$ ", found[3], flags=re.MULTILINE)[1:]:
            command = part.partition("\n")[0]
            words = words_of(command)
            parts.append(f"$ {command}\n{shown(run(words, folder)) if words else ''}")
        return f"```console\n{''.join(parts)}```"

    return FENCE.sub(block, page.read_text(encoding="utf-8"))


def in_a_process(words: list[str], folder: Path) -> str:
    """Run a command as a reader would, with the sandbox that needs no image."""
    program = {"viva": [sys.executable, "-m", "viva"], "python": [sys.executable]}[words[0]]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "VIVA_"))}
    environment = {**kept, "DOCKER_HOST": f"unix://{folder}/no-daemon", "COLUMNS": "80"}
    command = [*program, *words[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(words)} ended with {done.returncode}")
    return done.stdout


def main() -> None:
    """Write the outputs into all pages."""
    for name in PAGES:
        page = ROOT / "docs" / name
        with tempfile.TemporaryDirectory() as scratch:
            prepare(page, Path(scratch))
            page.write_text(rewritten(page, in_a_process, Path(scratch)), encoding="utf-8")


if __name__ == "__main__":
    main()
