"""Draws a bar chart as SVG that is readable on light and dark pages."""

from __future__ import annotations

from html import escape

WIDTH, BAR, GAP, LEFT = 760, 22, 12, 210


def bars(title: str, rows: list[tuple[str, float]]) -> str:
    """Draw one horizontal bar per row, with its value next to it."""
    most = max(value for _, value in rows)
    height = 44 + len(rows) * (BAR + GAP)
    label = escape(title)
    style = (
        "text{fill:#333;font:13px system-ui,sans-serif}.b{fill:#7c8aa5}.v{fill:#1f7a4d}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.b{fill:#8fa0c0}.v{fill:#4fbf8b}}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">',
        f"<style>{style}</style>",
        f'<text x="0" y="18" font-weight="600">{label}</text>',
    ]
    for index, (name, value) in enumerate(rows):
        top = 36 + index * (BAR + GAP)
        width = max(1.0, (WIDTH - LEFT - 90) * value / most)
        kind = "v" if name.startswith("viva") else "b"
        parts.append(f'<text x="{LEFT - 10}" y="{top + 16}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="3"/>')
        parts.append(f'<text x="{LEFT + width + 8:.1f}" y="{top + 16}">{value:,.0f}</text>')
    return "\n".join([*parts, "</svg>", ""])
