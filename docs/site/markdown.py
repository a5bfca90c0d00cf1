"""What the generated pages share: plain text made safe as Markdown, and docstrings in Google's style as Markdown."""

from __future__ import annotations

import re
import textwrap

SECTIONS = ("Args", "Returns", "Yields", "Raises")


def plain(text: str) -> str:
    """Escape everything that Markdown or HTML would interpret, except code between backticks."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if part.startswith("`") and len(part) > 1 else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\*_\[\]#{}`])", r"\\\1", text)
    # Not every Markdown has an escape for these.
    return re.sub(r"[|~^=$]", lambda found: f"&#{ord(found[0])};", text)


def code(text: str) -> str:
    """Return one line as inline code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def docstring(text: str | None) -> str:
    """Return a docstring as Markdown: its paragraphs, then each section with a list."""
    text = textwrap.dedent((text or "").partition("\n")[0] + "\n") + textwrap.dedent((text or "").partition("\n")[2])
    found = re.split(rf"^({'|'.join(SECTIONS)}):\n", text, flags=re.MULTILINE)
    parts = [_paragraphs(found[0])]
    for name, body in zip(found[1::2], found[2::2], strict=True):
        inside = textwrap.dedent(body.rstrip())
        within, _, after = inside.partition("\n\n")
        items = _items(within) if name in ("Args", "Raises") else [_paragraphs(within)]
        parts += [f"**{'Arguments' if name == 'Args' else name}**", "\n".join(items)]
        if after:
            parts.append(_paragraphs(textwrap.dedent(after)))
    return "\n\n".join(part for part in parts if part)


def _paragraphs(text: str) -> str:
    found = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "\n\n".join(plain(part) for part in found if part)


def _items(body: str) -> list[str]:
    """One entry for each `name: text`; an indented line continues the one before it."""
    joined = re.sub(r"\n\s+", " ", body)
    found = [re.fullmatch(r"([\w.*, ]+): (.*)", line) for line in joined.splitlines()]
    return [
        f"- {code(match[1])}: {plain(match[2])}" if match else f"- {plain(line)}"
        for line, match in zip(joined.splitlines(), found, strict=True)
    ]
