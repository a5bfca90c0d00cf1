"""Reads single keys from a terminal, or characters from a pipe that stands for one."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

END = "\x04"
"""Ctrl-D, and the end of a pipe."""
_ESCAPE = "\x1b"
_ERASE = ("\x7f", "\b")
MOST_LINE = 4000


class KeyReader:
    """Reads keys without Enter where standard input is a terminal, whose mode is restored at the end."""

    def __init__(self, descriptor: int | None = None) -> None:
        """Read from a descriptor; None stands for standard input."""
        if descriptor is None:
            # If it was closed, its number may by now be that of a journal.
            descriptor = os.open(os.devnull, os.O_RDONLY) if sys.stdin is None else sys.stdin.fileno()
        self._descriptor = descriptor
        self.is_terminal = os.isatty(self._descriptor)
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        """Have the terminal pass each key on at once; Ctrl-C still interrupts."""
        if self.is_terminal:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor, termios.TCSADRAIN)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Restore the mode of the terminal."""
        self._restore()

    def read(self) -> str:
        """Return the next key, or `END`; ends of lines and keys that send several characters are passed over."""
        while True:
            character = self._character()
            if character == _ESCAPE and self.is_terminal:
                self._skip_sequence()
            elif character not in "\r\n":
                return character

    def read_line(self, ask: Callable[[], None]) -> str:
        """Return a line, without its end, that can be edited where it is typed.

        Args:
            ask: Asks for the line, once the terminal lets it be edited.
        """
        restored = self._before is not None
        self._restore()
        ask()
        try:
            line = ""
            while (character := self._character()) not in ("\n", END) and len(line) < MOST_LINE:
                # What was typed ahead comes as it was typed.
                line = line[:-1] if character in _ERASE else line + character
            return line.rstrip("\r")
        finally:
            if restored:
                self.__enter__()

    def _restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    def _character(self) -> str:
        """Return one character; what is not UTF-8 becomes a replacement character."""
        try:
            first = os.read(self._descriptor, 1)
        except OSError:  # the terminal has been closed
            return END
        if not first:
            return END
        more = 3 if first[0] >= 0xF0 else 2 if first[0] >= 0xE0 else 1 if first[0] >= 0xC0 else 0
        while more > 0 and (one := os.read(self._descriptor, 1)):
            first, more = first + one, more - 1
        return first.decode("utf-8", "replace")

    def _skip_sequence(self) -> None:
        """Pass over what an arrow, a function key, or a key with Alt sends after its escape (ECMA-48, section 5.4)."""
        if self._is_more() and self._character() in "[O":
            while self._is_more() and not "@" <= self._character() <= "~":
                pass

    def _is_more(self) -> bool:
        """Return whether more of a sequence comes at once; after the key Escape itself, nothing does."""
        return bool(select.select([self._descriptor], [], [], 0.05)[0])
