"""Reads JSON files piece by piece: the elements of a list, or of one list within an object, and JSON Lines.

A file of a gigabyte takes no more memory than its largest element.
"""

from __future__ import annotations

import codecs
import errno
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from viva.recordings.recording import HalfWritten, NothingYet, RecordingError
from viva.regular_files import MIB, in_words

PIECE = 1 << 16
"""Bytes that are read at a time."""
MOST_LINE = 64 * MIB
"""Maximum size in bytes of one line, and in characters of one element of a list. In memory it takes many times as
much."""
MOST_PASSED_OVER = 1024 * MIB
"""Maximum size in bytes of all longer lines of a file, which are skipped."""
MOST_DOCUMENT = 128 * MIB
"""Maximum size in bytes of a document that must be read as a whole."""
_BLANK = re.compile(r"[ \t\r\n]*")
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_PART = re.compile(r"\.|[eE][+-]?|u[0-9a-fA-F]{0,4}")
_AFTER = tuple(",]}: \t\r\n")
_DECODER = json.JSONDecoder()


class Pieces:
    """A JSON text that is read as far as it is needed."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin with a file that is open."""
        self._path = path
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._line = 1
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, expected: str) -> None:
        """Consume one character.

        Raises:
            RecordingError: another character is there.
        """
        found = self.peek()
        if not found:
            raise self.fault("the file ends too early", kind=HalfWritten)
        if found != expected:
            raise self.fault(f"expected {expected!r}, found {found!r}")
        self._at += 1

    def value(self) -> Any:
        """Read one whole value.

        Raises:
            RecordingError: there is no value, or it is invalid.
        """
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                if len(self._text) - self._at > MOST_LINE:
                    raise RecordingError(
                        f"{self._path}: one element is larger than {in_words(MOST_LINE)}, the maximum."
                    ) from error
                if self._more():
                    continue
                kind = HalfWritten if ends_in(self._text, error) else RecordingError
                raise self.fault(getattr(error, "msg", str(error)), getattr(error, "pos", None), kind) from error
            except RecursionError as error:
                raise self.fault("it is nested too deeply") from error
            # A number may go on in the next piece: `1` in `1.5`, and `1.` is read as 1 with something after it.
            whole = self._text[end : end + 1] in _AFTER if isinstance(value, int | float) else True
            if whole or not self._more():
                self._at = end
                return value

    def fault(
        self, words: str, position: int | None = None, kind: type[RecordingError] = RecordingError
    ) -> RecordingError:
        """Return an error that says what is wrong, and in which line."""
        line = self._line + self._text.count("\n", 0, self._at if position is None else position)
        return kind(f"{self._path}, line {line}: not valid JSON: {words}")

    def _more(self) -> bool:
        """Read as much again as there is, so that a large value is not parsed too often."""
        if self._ended:
            return False
        try:
            data = self._file.read(max(PIECE, len(self._text) - self._at))
        except OSError as error:
            raise RecordingError(f"{self._path}: cannot be read: {error.strerror}") from error
        try:
            new = self._decode.decode(data, final=not data)
        except UnicodeDecodeError as error:
            kind = RecordingError if data else HalfWritten
            raise self.fault(f"not UTF-8: {error.reason}", kind=kind) from error
        self._ended = not data
        self._line += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :] + new
        self._at = 0
        return bool(data)


def elements(pieces: Pieces, keys: Sequence[str]) -> Iterator[tuple[Any, bool]]:
    """Read the elements of a list, or of the lists that an object has under some keys; else the object itself.

    Returns:
        Each with whether it is the object itself.

    Raises:
        RecordingError: the text is neither, or is invalid.
    """
    if pieces.peek() == "{":
        pieces.take("{")
        beside: dict[Any, Any] | None = {}
        while pieces.peek() != "}":
            if (found := pieces.peek()) != '"':
                raise pieces.fault("expected a key in quotes", kind=RecordingError if found else HalfWritten)
            name = pieces.value()
            pieces.take(":")
            if name in keys and pieces.peek() == "[":
                beside = None
                yield from ((each, False) for each in _list(pieces))
            else:
                value = pieces.value()
                if beside is not None:
                    beside[name] = value
            if pieces.peek() != "}":
                pieces.take(",")
        pieces.take("}")
        if beside is not None:
            yield beside, True
    elif pieces.peek() == "[":
        yield from ((each, False) for each in _list(pieces))
    else:
        raise pieces.fault(f"it must be a list, or an object that holds one under {keys[0]!r}")


def _list(pieces: Pieces) -> Iterator[Any]:
    pieces.take("[")
    while pieces.peek() != "]":
        yield pieces.value()
        if pieces.peek() != "]":
            pieces.take(",")
    pieces.take("]")


def ends_in(text: str, error: ValueError) -> bool:
    """Return whether a text is no valid JSON because it ends too early, in the middle of a value."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    rest = text[error.pos :].strip()
    # A word, the fraction of a number, or an escape that breaks off.
    return any(word.startswith(rest) for word in _WORDS) or _PART.fullmatch(rest) is not None


def is_whole(line: bytes) -> bool:
    """Return whether a line is a JSON object or list of its own, as in JSON Lines."""
    try:
        return isinstance(json.loads(stripped(line)), dict | list)
    except (ValueError, RecursionError):
        return False


def bounded_lines(
    file: IO[bytes], *, half_written: Callable[[], None] | None = None
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number and the bytes of each line; None for one that is longer than `MOST_LINE`, which is skipped.

    Args:
        file: The file.
        half_written: Called if the last line is half written, which is then passed over. None if nobody is writing the
            file, so that the line is yielded like any other.

    Raises:
        OSError: such lines are longer than `MOST_PASSED_OVER` together: a sparse file could take hours.
    """
    number, left = 0, MOST_PASSED_OVER
    while line := file.readline(MOST_LINE + 1):
        number += 1
        if len(line) <= MOST_LINE:
            if half_written is None or line.endswith(b"\n") or is_whole(line) or not line.strip():
                yield number, line
            else:
                half_written()
            continue
        yield number, None
        while line and not line.endswith(b"\n"):
            line = file.readline(PIECE)
            left -= len(line)
            if left < 0:
                words = f"its lines of more than {in_words(MOST_LINE)} are larger than {in_words(MOST_PASSED_OVER)}"
                raise OSError(errno.EFBIG, words)


def read_document(path: Path, file: IO[bytes]) -> Any:
    """Read a whole file as one JSON document.

    Raises:
        NothingYet: it is empty.
        RecordingError: it is not valid, or larger than `MOST_DOCUMENT`.
    """
    data = file.read(MOST_DOCUMENT + 1)
    if not data or data.isspace():
        raise NothingYet(f"{path}: the file is empty")
    if len(data) > MOST_DOCUMENT:
        raise RecordingError(
            f"{path}: the document is larger than {in_words(MOST_DOCUMENT)}, the maximum. Write it as JSON Lines, each "
            "recording on a line of its own: such files may have any size."
        )
    return load_document(data, path)


def load_document(data: bytes, path: Path, number: int | None = None) -> Any:
    """Return the value of a whole file, or of one of its lines.

    Args:
        data: The JSON.
        path: The file.
        number: The number of the line; None if the data is the whole file.

    Raises:
        RecordingError: it is not valid.
    """
    try:
        return json.loads(stripped(data) if number is not None else data.removeprefix(codecs.BOM_UTF8))
    except json.JSONDecodeError as error:
        line = error.lineno if number is None else number
        kind = HalfWritten if number is None and ends_in(error.doc, error) else RecordingError
        raise kind(f"{path}, line {line}, column {error.colno}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1 if number is None else number
        raise RecordingError(f"{path}, line {line}: not UTF-8: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        where = f", line {number}" if number is not None else ""
        raise RecordingError(f"{path}{where}: cannot be read: {error}") from error


def load_line(line: bytes | None, path: Path, number: int) -> Any:
    """Return the value of a line that `bounded_lines` yielded.

    Raises:
        RecordingError: it is not valid, or too long.
    """
    if line is None:
        raise RecordingError(f"{path}, line {number}: the line is longer than {in_words(MOST_LINE)}, the maximum.")
    return load_document(line, path, number)


def stripped(line: bytes) -> bytes:
    """Return a line without white space around it and without the byte order mark that a file may begin with."""
    return line.removeprefix(codecs.BOM_UTF8).strip()


def lines_of(
    path: Path, file: IO[bytes], *, half_written: Callable[[], None] | None = None
) -> Iterator[tuple[int, Any]]:
    """Read JSON Lines.

    Args:
        path: The file's, for messages.
        file: The file.
        half_written: See `bounded_lines`.

    Returns:
        The number of each line and what it says: a `ValueError` where it is not valid.
    """
    try:
        for number, line in bounded_lines(file, half_written=half_written):
            if line is None:
                yield number, ValueError(f"it is longer than {in_words(MOST_LINE)}")
                continue
            text = stripped(line)
            if not text:
                continue
            try:
                yield number, json.loads(text)
            except RecursionError:
                yield number, ValueError("it is nested too deeply")
            except ValueError as error:
                yield number, error
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
