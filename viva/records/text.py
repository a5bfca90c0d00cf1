"""Escapes hostile text: all text of agents, models and cases passes through here before it is stored or shown."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

# C0 controls except tab and newline, DEL, and C1 controls; they control terminals and corrupt XML.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Characters that reorder or hide text around them (Unicode TR36 2.2, "Trojan Source"), or are themselves invisible:
# separators of lines and paragraphs, interlinear annotations, and what has the property Default_Ignorable_Code_Point.
_BIDI = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


_SPACE = re.compile(r"\s+")
_MARKS = {" ": "·", "\t": "⇥", "\n": "⏎"}
_MOST_MARKS = 8


def plural(noun: str, number: float, several: str | None = None) -> str:
    """Return the form of a noun that fits a number: `run` for 1, otherwise `runs`, or `several` if it is given."""
    return noun if number == 1 else several or f"{noun}s"


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Return a count with its noun: `1 run`, `2 runs`, `1,200 runs`; `several` is an irregular plural."""
    return f"{number:,} {plural(noun, number, several)}"


def storable(text: str) -> str:
    """Return text that every encoder accepts: two surrogates that are one character are joined, and lone ones become
    escapes (`\\ud800`).
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def printable(text: str, limit: int | None = None) -> str:
    """Return text that is safe on a terminal: control characters and reordering characters become escapes.

    Args:
        text: Any text.
        limit: Maximum number of characters; the rest is replaced by its length.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    if cut is text and text.isascii() and (text.isprintable() or text.replace("\n", "").isprintable()):
        return text
    shown = _BIDI.sub(_escape, _CONTROL.sub(_escape, storable(cut.replace("\r\n", "\n"))))
    return shown if cut is text else f"{shown}… [{counted(len(text) - len(cut), 'more character')}]"


def as_long_as(text: str, words: str) -> str:
    """Return words, repeated up to the length that a text has as it is sent, in bytes.

    Characters would not do: for a text in Chinese, they are a third of its bytes, and of its tokens.
    """
    size = len(text.encode(errors="replace"))
    return (words * (size // len(words) + 1))[:size]


def without_invisible(text: str) -> str:
    """Return text without the characters that hide or reorder others."""
    return _BIDI.sub("", text)


def one_line(text: str, limit: int | None = None) -> str:
    """Return the same as `printable`, with all white space folded to single blanks."""
    if _is_plain(text, limit):
        return text
    ahead = text if limit is None else text[: limit * 4 + 1000]
    folded = " ".join(printable(ahead).split())
    if limit is None or (len(folded) <= limit and len(ahead) == len(text)):
        return folded
    return folded[: limit - 1] + "…"


def exact_line(text: str, limit: int | None = None) -> str:
    """Return text on one line in which every difference of white space can be seen, also where a reader folds blanks.

    A single blank between words stays a blank. Every other white space becomes a mark: `·` for a blank, `⇥` for a
    tabulator, `⏎` for the end of a line (a blank follows it where the next line is not indented, so that the text can
    be wrapped), and an escape for others (`\\xa0`). More than eight equal marks are counted (`·{1000}`).

    Args:
        text: Any text.
        limit: Maximum number of characters; the rest is replaced by `…`.
    """
    if _is_plain(text, limit):
        return text
    ahead = text if limit is None else text[: limit * 4 + 1000]
    shown = _SPACE.sub(_marked, printable(ahead.replace("\r\n", "\\x0d\n")))
    if limit is None or (len(shown) <= limit and len(ahead) == len(text)):
        return shown
    return shown[: limit - 1] + "…"


def slug(text: str, limit: int = 60) -> str:
    """Return a file name made from any text: lower-case letters, digits, `_`, `.` and `-`; never empty or only dots."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9_.]+", "-", plain).strip("-.")[:limit].strip("-.")
    return name or "x"


def _is_plain(text: str, limit: int | None) -> bool:
    """Return whether a text is short enough, and nothing in it needs an escape, a mark or folding, like most texts."""
    # Of ASCII, only a blank is both white space and printable.
    printed = text.isascii() and text.isprintable() and (limit is None or len(text) <= limit)
    return printed and "  " not in text and text.strip() == text


def _escape(match: re.Match[str]) -> str:
    return _code(match.group())


def _marked(match: re.Match[str]) -> str:
    """Return the marks of some white space; a single blank between words needs none."""
    space = match.group()
    if space == " " and match.start() and match.end() < len(match.string):
        return " "
    parts = []
    for character, equal in groupby(space):
        mark, count = _MARKS.get(character) or _code(character), len(list(equal))
        parts.append(mark * count if count <= _MOST_MARKS else f"{mark}{{{count}}}")
    return "".join(parts) + (" " if space[-1] == "\n" and match.end() < len(match.string) else "")


def _code(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
