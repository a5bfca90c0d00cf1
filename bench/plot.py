"""Draws a bar chart as SVG that is readable on light and dark pages."""

from __future__ import annotations

from html import escape

WIDTH, BAR, GAP, LEFT = 760, 22, 12, 210


def bars(title: str, groups: dict[str, list[tuple[str, float]]]) -> str:
    """Draw one horizontal bar per row, with its value next to it, below the name of each group."""
    most = max(value for rows in groups.values() for _, value in rows)
    height = 44 + sum((len(rows) + 1) * (BAR + GAP) for rows in groups.values())
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
    top = 36
    for group, rows in groups.items():
        parts.append(f'<text x="{LEFT}" y="{top + 16}" font-weight="600">{escape(group)}</text>')
        for name, value in rows:
            top += BAR + GAP
            width = max(1.0, (WIDTH - LEFT - 90) * value / most)
            kind = "v" if name.startswith("viva") else "b"
            parts.append(f'<text x="{LEFT - 10}" y="{top + 16}" text-anchor="end">{escape(name)}</text>')
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="3"/>')
            parts.append(f'<text x="{LEFT + width + 8:.1f}" y="{top + 16}">{value:,.0f}</text>')
        top += BAR + GAP
    return "\n".join([*parts, "</svg>", ""])
