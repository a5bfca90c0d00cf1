"""Names the subject of a recording by what the user asked: recordings of one question are runs of one subject."""

from __future__ import annotations

import hashlib

from viva.records.text import one_line

SHOWN = 120
"""Characters of a question that name the subject; of a longer one, the beginning and a hash."""


def subject_of(question: str) -> str:
    """Return the name of a subject: equal questions, and no others, have equal names."""
    plain = question.strip()
    line = one_line(plain, SHOWN)
    if line == plain:
        return line
    return f"{line} ({hashlib.sha256(plain.encode(errors='surrogatepass')).hexdigest()[:8]})"
