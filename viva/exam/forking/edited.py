"""Reads the file with a reply or a message that a person edited."""

from __future__ import annotations

from pathlib import Path

from viva.errors import SetupError
from viva.regular_files import read_text


def read_edited(option: str, file: Path) -> str:
    """Return the text of a file; a line break at its end is left out, because editors add one.

    Args:
        option: What names the file, for messages.
        file: The file.

    Raises:
        SetupError: the file cannot be read, is too large, holds no text, or is not UTF-8.
    """
    text = read_text(file, f"the file of {option}")
    if not text.strip():
        raise SetupError(f"{option} {file} is empty; it must hold the text that replaces the stored one.")
    return text.removesuffix("\n").removesuffix("\r")
