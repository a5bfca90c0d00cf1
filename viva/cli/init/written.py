"""Writes all files of `viva init` or none, overwrites none without permission, and tries them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from viva.errors import SetupError
from viva.records.text import printable

TRY_SECONDS = 300.0


def write_files(files: Mapping[Path, str], *, force: bool) -> None:
    """Write the files, and print their names.

    Raises:
        SetupError: one of them exists, or cannot be written; nothing was written over.
    """
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise SetupError(f"{', '.join(there)} already exists; choose another name, or overwrite it with --force.")
    for file, text in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SetupError(f"{file} cannot be written: {error.strerror}.") from error
        click.echo(f"wrote {printable(str(file))}")


def try_once(module: str, *arguments: str) -> bool:
    """Run `python -m module` once, show what it prints, and return whether it succeeded."""
    shown = "viva" if module == "viva" else module
    click.echo(f"\n$ {printable(shlex.join((shown, *arguments)))}")
    command: Sequence[str] = (sys.executable, "-m", module, *arguments)
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TRY_SECONDS,
        )
    except subprocess.TimeoutExpired:
        click.echo(f"It did not end within {TRY_SECONDS:g} s.", err=True)
        return False
    click.echo(printable_lines(f"{done.stdout}{done.stderr}".rstrip()))
    return done.returncode == 0


def printable_lines(text: str) -> str:
    """Return text of several lines that is safe on a terminal."""
    return "\n".join(printable(line) for line in text.splitlines())
