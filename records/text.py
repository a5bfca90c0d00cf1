"""Escapes hostile text: all text of agents, models and cases passes through here before it is stored or shown."""

from __future__ import annotations

import re
import unicodedata

# C0 controls except tab and newline, DEL, and C1 controls; they control terminals and corrupt XML.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Characters that reorder or hide text around them (Unicode TR36 2.2, "Trojan Source"), or are themselves invisible.
_BIDI = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)


def storable(text: str) -> str:
    """Return text that every encoder accepts: lone surrogates become escapes (`\\ud800`)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def printable(text: str, limit: int | None = None) -> str:
    """Return text that is safe on a terminal: control characters and reordering characters become escapes.

    Args:
        text: Any text.
        limit: Maximum number of characters; the rest is replaced by its length.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    shown = _BIDI.sub(_escape, _CONTROL.sub(_escape, storable(cut.replace("\r\n", "\n"))))
    return shown if cut is text else f"{shown}… [{len(text) - len(cut):,} more characters]"


def without_invisible(text: str) -> str:
    """Return text without the characters that hide or reorder others."""
    return _BIDI.sub("", text)


def one_line(text: str, limit: int | None = None) -> str:
    """Return the same as `printable`, with all white space folded to single blanks."""
    ahead = text if limit is None else text[: limit * 4 + 1000]
    folded = " ".join(printable(ahead).split())
    if limit is None or (len(folded) <= limit and len(ahead) == len(text)):
        return folded
    return folded[: limit - 1] + "…"


def slug(text: str, limit: int = 60) -> str:
    """Return a file name made from any text: lower-case letters, digits, `_`, `.` and `-`; never empty or only dots."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9_.]+", "-", plain).strip("-.")[:limit].strip("-.")
    return name or "x"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
