"""Defines the stop keyword, and recognises it in a model's message."""

from __future__ import annotations

import re
from dataclasses import dataclass

STOP_KEYWORD = "EXAM_FINISHED"

# Models escape the underscore (Markdown), change the case, and wrap the word in quotes, emphasis (`_` too) or code
# fences. As part of a longer name (`exam_finished_at`) it belongs to the task, and is not the keyword.
_KEYWORD = re.compile(
    r"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)EXAM\\?_FINISHED(?!_*[^\W_])",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$", re.MULTILINE)
_SENTENCE_ENDS = ".!?:;\n\r\u2026\u3002\uff01\uff1f"
_DECORATION = "`*_\"'\u201c\u201d\u2018\u2019()[]<>{} \t"


@dataclass(slots=True)  # made for each message, and a frozen one takes three times as long
class ExaminerMessage:
    """A model's message, separated from its wish to stop."""

    text: str
    """The message without the keyword; empty if only decoration is left."""
    stop: bool
    misplaced: bool = False
    """Whether the keyword is in the middle of a sentence, so that neither sending nor stopping would be right."""


def read_message(text: str) -> ExaminerMessage:
    """Split a message into its text and whether it contains the stop keyword.

    The keyword ends the exam if it stands alone, or at the beginning or end of a sentence or line, whatever its case
    and decoration. In the middle of a sentence it is misplaced.
    """
    # The pattern takes a microsecond for eight characters, and most messages have no underscore.
    found = list(_KEYWORD.finditer(text)) if "_" in text else []
    if not found:
        return ExaminerMessage(text.strip(), stop=False)
    rest = _FENCE.sub("", _KEYWORD.sub("", text)).strip()
    if not any(character.isalnum() for character in rest):
        rest = ""
    for match in found:
        before = text[: match.start()].rstrip(_DECORATION)
        after = text[match.end() :].lstrip(_DECORATION)
        if not before or before[-1] in _SENTENCE_ENDS or not after or after[0] in _SENTENCE_ENDS:
            return ExaminerMessage(rest, stop=True)
    return ExaminerMessage(rest, stop=False, misplaced=True)
