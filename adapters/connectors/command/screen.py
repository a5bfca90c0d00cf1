"""Turns what a program writes to a terminal into the text that a person would read there, line by line."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|\Z)"  # OSC: titles, links, colours
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\|\Z)"  # strings of other kinds
    r"|\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<final>[@-~])"  # CSI: colours, cursor
    r"|\x1b\[[0-?]*[ -/]*\Z"  # the beginning of one
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x07\x0b-\x1f\x7f-\x9f]")
_RUN = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f]+|[\r\b]")
"""Characters that follow each other on the screen, or one that moves the cursor."""
_WIDTH = 10_000
"""The columns of a terminal, unless its keys say otherwise. A cursor that is sent further to the right stops there."""
_PADDING, _PADDING_SHARE = 20_000, 4
"""Maximum number of blanks in one text that only a moving cursor makes: so many, and so many per character written.
Ten bytes would otherwise become a hundred kilobytes, again on each line."""


def readable(output: str) -> str:
    """Return the text of a terminal's output, without escape sequences and control characters.

    Within a line, a carriage return, backspaces and the usual cursor movements overwrite what was there, as in a bar of
    progress. Movements between lines are not followed.
    """
    blanks = _Blanks(_PADDING + _PADDING_SHARE * len(output))
    return "\n".join(_line(line, blanks) for line in output.split("\n"))


def without_controls(message: str) -> str:
    """Return a message as it can be typed: control characters become blanks, because a terminal acts on them."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", message)


class _Blanks:
    """Fills the room between the text of a line and a cursor to the right of it, as long as blanks are left."""

    def __init__(self, left: int) -> None:
        self._left = left

    def fill(self, cells: list[str], column: int) -> int:
        """Add blanks up to a column, and return the column that is reached; without blanks, one keeps words apart."""
        number = column - len(cells)
        if number <= 0:
            return column
        number = min(number, max(1, self._left))
        self._left -= number
        cells.extend(" " * number)
        return len(cells)


def _line(line: str, blanks: _Blanks) -> str:
    line = line.rstrip("\r")
    if "\x1b" not in line and "\r" not in line and "\b" not in line:
        return _CONTROL.sub("", line)
    cells: list[str] = []
    column, at = 0, 0
    for sequence in _SEQUENCE.finditer(line):
        column = _put(line[at : sequence.start()], cells, column, blanks)
        column = _move(sequence["final"], sequence["numbers"] or "", cells, column)
        at = sequence.end()
    _put(line[at:], cells, column, blanks)
    return "".join(cells)


def _put(text: str, cells: list[str], column: int, blanks: _Blanks) -> int:
    for found in _RUN.finditer(text):
        run = found.group()
        if run == "\r":
            column = 0
        elif run == "\b":
            column = max(0, column - 1)
        else:
            column = blanks.fill(cells, column)
            cells[column : column + len(run)] = run
            column += len(run)
    return column


def _move(final: str | None, numbers: str, cells: list[str], column: int) -> int:
    """Return the cursor's column after a CSI sequence, which may also have erased something."""
    number = int(numbers[:6]) if numbers.isdigit() else None
    if final in ("K", "J"):
        if number in (None, 0):
            del cells[column:]
        elif number == 2:
            cells.clear()
    elif final == "P":
        if len(cells) - column <= _WIDTH:  # what follows moves, and no line of a terminal is longer
            del cells[column : column + (number or 1)]
    elif final == "C":
        column += number or 1
    elif final == "D":
        column -= number or 1
    elif final == "G":
        column = (number or 1) - 1
    return min(max(0, column), max(len(cells), _WIDTH))
