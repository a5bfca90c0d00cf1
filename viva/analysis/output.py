"""Writes an analysis for a terminal, as Markdown or as JSON; a model's text is as hostile as an agent's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from viva.analysis.cause_namer import NamedCauses
from viva.analysis.findings import EvalAnalysis
from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.records.wording import counted, usage_words
from viva.reports.markdown.text import inert
from viva.statistics.causes.cause import CauseName
from viva.statistics.causes.names import MOST_NAME, MOST_SENTENCE

PARAGRAPH = 4_000
"""Characters of one paragraph."""
MOST_RUNS = 10
"""Maximum number of run ids shown for one claim; JSON has all."""


def as_json(analysis: EvalAnalysis) -> str:
    """Write the analysis as one JSON object."""
    return json.dumps(to_plain(analysis, full=True)) + "\n"


def as_markdown(analysis: EvalAnalysis) -> str:
    """Write the analysis as Markdown; no text of a model or an agent can become markup."""
    parts = ["## Analysis", _words(analysis.summary)]
    if analysis.weaknesses:
        parts.append("### Weaknesses")
        parts += [
            f"{number}. **{_words(each.title)}** ({each.severity})\n\n   {_words(each.explanation)}\n\n"
            f"   Runs: {_runs(each.runs, _code)}"
            for number, each in enumerate(analysis.weaknesses, 1)
        ]
    if analysis.improvements:
        parts.append("### Improvements")
        parts += [
            f"{number}. **{_words(each.title)}**\n\n   {_words(each.proposal)}\n\n"
            + (f"   Expected: {_words(each.expected)}\n\n" if each.expected else "")
            + f"   Runs: {_runs(each.runs, _code)}"
            for number, each in enumerate(analysis.improvements, 1)
        ]
    if analysis.dropped:
        parts.append("### Dropped claims")
        parts.append(
            "\n".join(f"- {each.kind} “{_words(each.title)}”: {_words(each.reason)}" for each in analysis.dropped)
        )
    parts.append(_words(_basis(analysis)))
    return "\n\n".join(parts) + "\n"


def as_text(analysis: EvalAnalysis) -> str:
    """Write the analysis for a terminal, without control characters."""
    return "\n".join(_lines(analysis)) + "\n"


def name_line(name: CauseName) -> str:
    """Return a new name of a cause for a terminal, without control characters."""
    return f"{one_line(name.cause, 8)}: “{one_line(name.name, MOST_NAME)}”. {one_line(name.reason, MOST_SENTENCE)}"


def names_text(names: NamedCauses) -> str:
    """Say for a terminal which causes were named, and what it cost."""
    lines = [f"{one_line(each.cause, 8)}: not named: {one_line(each.reason, 600)}" for each in names.unnamed]
    parts = [f"named {counted(len(names.named), 'cause')}"]
    if names.unnamed:
        parts.append(f"not named {len(names.unnamed)}")
    if names.known:
        parts.append(f"had a name {names.known}")
    cost = usage_words(names.usage) if names.named or names.unnamed else "no model was asked"
    stored = ", ".join(one_line(each, 300) for each in names.stored)
    return "\n".join((*lines, f"{', '.join(parts)}; {cost}", f"stored in {stored}")) + "\n"


_PLAIN = re.compile(r"[\w./#:~+-]{1,300}", re.ASCII)
FORMATS: dict[str, Callable[[EvalAnalysis], str]] = {"console": as_text, "markdown": as_markdown, "json": as_json}
ENDINGS = {".txt": "console", ".md": "markdown", ".json": "json"}


def _lines(analysis: EvalAnalysis) -> Iterator[str]:
    yield one_line(analysis.summary, PARAGRAPH)
    if analysis.weaknesses:
        yield "\nWEAKNESSES"
    for number, weakness in enumerate(analysis.weaknesses, 1):
        yield f"\n{number}. {one_line(weakness.title, 300)} ({weakness.severity})"
        yield f"   {one_line(weakness.explanation, PARAGRAPH)}"
        yield f"   runs: {_runs(weakness.runs, _plain)}"
    if analysis.improvements:
        yield "\nIMPROVEMENTS"
    for number, improvement in enumerate(analysis.improvements, 1):
        yield f"\n{number}. {one_line(improvement.title, 300)}"
        yield f"   {one_line(improvement.proposal, PARAGRAPH)}"
        if improvement.expected:
            yield f"   expected: {one_line(improvement.expected, PARAGRAPH)}"
        yield f"   runs: {_runs(improvement.runs, _plain)}"
    for claim in analysis.dropped:
        yield f"\ndropped: the {claim.kind} “{one_line(claim.title, 300)}”: {one_line(claim.reason, 600)}"
    yield f"\n{_basis(analysis)}"


def _basis(analysis: EvalAnalysis) -> str:
    words = "" if analysis.conversations else ", without what was said"
    seen = f"the figures of {counted(analysis.runs, 'run')} and {analysis.shown} of them in detail{words}"
    return f"By {one_line(analysis.by, 80)}, from {seen}; {usage_words(analysis.usage)}."


def _runs(runs: Sequence[str], form: Callable[[str], str]) -> str:
    more = f" and {len(runs) - MOST_RUNS} more" if len(runs) > MOST_RUNS else ""
    return ", ".join(form(run) for run in runs[:MOST_RUNS]) + more


def _words(text: str) -> str:
    return inert(text, PARAGRAPH)


def _code(run: str) -> str:
    # Plain ids can be copied from the source of the Markdown, too. In `<code>`, character references hold; between
    # backticks they would be shown as they are.
    return f"`{run}`" if _PLAIN.fullmatch(run) else f"<code>{inert(run)}</code>"


def _plain(run: str) -> str:
    return one_line(run, 300)
