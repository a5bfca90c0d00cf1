"""Shows on a terminal what judges' models were asked and what they answered. All of it is hostile text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from viva.records.exchange.exchanges import Exchange
from viva.records.text import one_line, printable

INDENT = "    "
"""Stands before each line of a message, so that none of them can imitate a heading."""


def print_exchanges(console: Console, exchanges: Sequence[Exchange], run: str) -> None:
    """Print requests and answers in order; what a request repeats of one that was printed is not printed again.

    Args:
        console: The console to print to.
        exchanges: Those of one run.
        run: The run's id.
    """
    printed: dict[str, int] = {}
    for number, each in enumerate(exchanges, 1):
        about = each.criterion if each.subject in ("", run) else f"{each.criterion} of {each.subject}"
        vote = f" · vote {each.vote}" if each.vote > 1 or any(other.vote > 1 for other in exchanges) else ""
        parts = f"{one_line(each.evaluator, 60)} · {one_line(about, 120)} · {one_line(each.judge, 60)}{vote}"
        title = f"request {number} of {len(exchanges)} · {parts}"
        console.print(Rule(Text(title), align="left"))
        console.print(Text(f"request {each.digest}", style="dim"))
        for message in each.messages:
            key = f"{message.role}\0{message.text}"
            if key in printed:
                words = f"(as in request {printed[key]})" if printed[key] != number else "(as above)"
                _block(console, message.role, words, "dim")
            else:
                printed[key] = number
                _block(console, message.role, message.text, "cyan")
        if each.answer:
            _block(console, "the judge answered", each.answer, "green")
        if each.error:
            _block(console, "there is no answer" if not each.answer else "it is not usable", each.error, "red")


def _block(console: Console, who: str, words: str, style: str) -> None:
    console.print(Text(f"{one_line(who, 40)}:", style=f"bold {style}"))
    lines = printable(words).split("\n")
    console.print(Text("\n".join(f"{INDENT}{line}" for line in lines)), soft_wrap=not console.is_terminal)
