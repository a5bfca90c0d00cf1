"""Makes any text harmless in Markdown."""

from __future__ import annotations

import re

from viva.records.text import one_line

# The characters with a meaning in Markdown, in HTML, or in GitHub's autolinks. An underscore within a word has none in
# any dialect in use.
_SPECIAL = re.compile(r"[\\`*{}\[\]()<>#+!|~@:&$=^\"]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.", re.IGNORECASE)


def inert(text: str, limit: int = 300) -> str:
    """Return text on one line that Markdown shows literally.

    Special characters become character references, which never form structure (CommonMark 2.5). GitHub still looks for
    mentions and references to issues, so an invisible space behind `@` and `#` prevents notifications.
    """

    def reference(match: re.Match[str]) -> str:
        character = match.group()
        return f"&#{ord(character)};" + ("&#8203;" if character in "@#" else "")

    return _SPECIAL.sub(reference, one_line(text, limit))
