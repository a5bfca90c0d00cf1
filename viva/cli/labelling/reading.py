"""Reads label files that the user named, and says on standard error what in them could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from viva.errors import SetupError
from viva.journal.lines import Damage
from viva.judge.calibration.label_files import HumanLabel, is_label_file, labels_in
from viva.judge.calibration.label_tables import MOST
from viva.records.text import one_line, printable
from viva.regular_files import read_text


def read_label_text(path: Path, wanted: str = "neither a label file nor a journal") -> str:
    """Return the text of a label file, or of another file with labels.

    Args:
        path: The file.
        wanted: What is missing if there is no such file, in words.

    Raises:
        SetupError: there is none, or it cannot be read.
    """
    if not path.exists() and not path.is_symlink():
        name = one_line(str(path))
        raise SetupError(f"there is {wanted} {name}.{_near(path)}")
    return read_text(path, "the label file", MOST, torn_lines=True)


def labels_of_text(text: str, path: Path) -> list[HumanLabel]:
    """Return the labels in the text of a label file, and name torn lines on standard error.

    Raises:
        SetupError: a line is not a label.
    """
    damage = Damage()
    labels = labels_in(text, path, damage)
    if skipped := damage.words():
        lines = ", ".join(map(str, damage.lines))
        which = "line" if len(damage.lines) == 1 else "lines"
        click.echo(printable(f"note: {path}: {skipped} skipped ({which} {lines}): a writer was killed"), err=True)
    return labels


def read_files(paths: Sequence[Path]) -> list[HumanLabel]:
    """Return the labels of label files of `viva label`, file by file.

    Raises:
        SetupError: a file cannot be read, or holds something else.
    """
    labels: list[HumanLabel] = []
    for path in paths:
        text = read_label_text(path, "no label file")
        if text.strip() and not text.lstrip().startswith("{") and not is_label_file(text):
            raise SetupError(
                f"{one_line(str(path))} is not a label file of `viva label`; only these say of which run a label is."
            )
        labels += labels_of_text(text, path)
    return labels


def _near(path: Path) -> str:
    """Suggest what is in the same folder under a similar name."""
    try:
        names = sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return ""
    found = get_close_matches(path.name, names[:10_000], 1)
    return f" Did you mean {one_line(str(path.parent / found[0]))}?" if found else ""
