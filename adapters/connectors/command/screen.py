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
_MOST_COLUMNS = 100_000
"""Where a cursor stops that is sent further to the right."""


def readable(output: str) -> str:
    """Return the text of a terminal's output, without escape sequences and control characters.

    Within a line, a carriage return, backspaces and the usual cursor movements overwrite what was there, as in a bar of
    progress. Movements between lines are not followed.
    """
    return "\n".join(_line(line) for line in output.split("\n"))


def without_controls(message: str) -> str:
    """Return a message as it can be typed: control characters become blanks, because a terminal acts on them."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", message)


def _line(line: str) -> str:
    line = line.rstrip("\r")
    if "\x1b" not in line and "\r" not in line and "\b" not in line:
        return _CONTROL.sub("", line)
    cells: list[str] = []
    column, at = 0, 0
    for sequence in _SEQUENCE.finditer(line):
        column = _put(line[at : sequence.start()], cells, column)
        column = _move(sequence["final"], sequence["numbers"] or "", cells, column)
        at = sequence.end()
    _put(line[at:], cells, column)
    return "".join(cells)


def _put(text: str, cells: list[str], column: int) -> int:
    for character in text:
        if character == "\r":
            column = 0
        elif character == "\b":
            column = max(0, column - 1)
        elif character == "\t" or not _CONTROL.match(character):
            cells.extend(" " * (column - len(cells)))
            cells[column : column + 1] = [character]
            column += 1
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
        del cells[column : column + (number or 1)]
    elif final == "C":
        column += number or 1
    elif final == "D":
        column -= number or 1
    elif final == "G":
        column = (number or 1) - 1
    return min(max(0, column), _MOST_COLUMNS)
