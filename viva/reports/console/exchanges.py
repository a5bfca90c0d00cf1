"""Shows on a terminal what judges' models were asked and what they answered. All of it is hostile text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from viva.journal.reader import StoredRun
from viva.records.exchange.exchanges import Exchange, RequestMessage
from viva.records.text import counted, one_line, printable
from viva.records.verdict import Verdict

INDENT = "    "
"""Stands before each line of a message, so that none of them can imitate a heading."""
MOST_PRINTED = 2 * 1024 * 1024
"""Maximum number of characters of one run's requests and answers, of which each line counts as `LINE` at least."""
LINE = 32
RULES = "system"
"""The role of the message with the judge's rules."""
Place = tuple[str, int]
"""A run, and the number of a request."""


class ExchangePrinter:
    """Prints the exchanges of runs; a judge's rules, which are the same in many requests, only once."""

    def __init__(self, console: Console) -> None:
        """Prepare to print.

        Args:
            console: The console to print to.
        """
        self._console = console
        self._rules: dict[bytes, Place] = {}
        """Where the rules with a digest were printed, in whichever run."""
        self._left = MOST_PRINTED

    def print(self, exchanges: Sequence[Exchange], stored: StoredRun) -> None:
        """Print requests and answers in order; what a request repeats of one that was printed is not printed again.

        Args:
            exchanges: Those of one run.
            stored: The run.
        """
        printed: dict[bytes, Place] = {}
        self._left = MOST_PRINTED
        for number, each in enumerate(exchanges, 1):
            self._head(each, f"request {number} of {len(exchanges)}", exchanges, stored)
            for message in each.messages:
                self._message(message, (stored.id, number), self._rules if message.role == RULES else printed)
            if each.answer:
                self._block("the judge answered", each.answer, "green")
            if each.error:
                self._block("there is no answer" if not each.answer else "it is not usable", each.error, "red")

    def _head(self, each: Exchange, place: str, exchanges: Sequence[Exchange], stored: StoredRun) -> None:
        about = each.criterion if each.subject in ("", stored.id) else f"{each.criterion} of {each.subject}"
        setting = stored.setting
        voted = setting.judge_votes > 1 or len(setting.judge_models) > 1 or any(other.vote > 1 for other in exchanges)
        vote = f" · vote {each.vote}" if voted else ""
        parts = f"{one_line(each.evaluator, 60)} · {one_line(about, 120)} · {one_line(each.judge, 60)}{vote}"
        self._console.print(Rule(Text(f"{place} · {parts}"), align="left"))
        verdict = _verdict(each, stored)
        final = "" if verdict is None else f" · {_final_words(verdict)}"
        self._console.print(Text(f"request {each.digest}{final}", style="dim"))

    def _message(self, message: RequestMessage, place: Place, printed: dict[bytes, Place]) -> None:
        key = hashlib.sha256(f"{message.role}\0{message.text}".encode(errors="replace")).digest()
        if key not in printed:
            printed[key] = place
            self._block(message.role, message.text, "cyan")
            return
        run, number = printed[key]
        what = "the same rules as" if message.role == RULES else "as"
        of_run = "" if run == place[0] else f" of {one_line(run, 100)}"
        words = "as above" if printed[key] == place else f"{what} in request {number}{of_run}"
        self._block(message.role, f"({words})", "dim")

    def _block(self, who: str, words: str, style: str) -> None:
        self._console.print(Text(f"{one_line(who, 40)}:", style=f"bold {style}"))
        shown, more = self._within_limits(words)
        if shown:
            self._console.print(Text("\n".join(shown)), soft_wrap=not self._console.is_terminal)
        if more:
            note = f"(not printed: {counted(more, 'more character')} in escaped form; --json prints all)"
            self._console.print(Text(note, style="dim"))

    def _within_limits(self, words: str) -> tuple[list[str], int]:
        """Return the lines of a text as far as they may be printed, and the number of characters that are left out."""
        ahead = words[: self._left]  # escaping a text of many megabytes takes seconds
        text = printable(ahead)
        lines, taken = [], 0
        for line in text.split("\n"):
            if self._left < LINE:
                break
            part = line[: self._left]
            lines.append(f"{INDENT}{part}")
            taken += len(part) + 1
            self._left -= max(LINE, len(part))
        return lines, len(words) - len(ahead) + max(0, len(text) + 1 - taken)


def _verdict(each: Exchange, stored: StoredRun) -> Verdict | None:
    """Return the verdict that the exchange was about; None if there is none."""
    about = (each.criterion, each.subject or stored.id)
    of_evaluator = (insight.verdicts for insight in stored.insights if insight.evaluator == each.evaluator)
    return next((one for verdicts in of_evaluator for one in verdicts if (one.criterion, one.subject) == about), None)


def _final_words(verdict: Verdict) -> str:
    votes = ", ".join(f"{one_line(vote.judge, 60)} {one_line(vote.label, 20)}" for vote in verdict.votes)
    return f"final verdict: {one_line(verdict.label, 20)}{f' (votes: {votes})' if votes else ''}"
