"""Prints what one exchange with an agent has shown. All text of the agent is hostile."""

from __future__ import annotations

from collections.abc import Iterator

import click

from viva.cli.doctor.checkup import AgentCheckup, CheckupFailure
from viva.records.text import counted, one_line, printable

SHOWN = 1000
"""Maximum number of characters of a reply."""
LINE = 300
"""Maximum number of characters of a printed line: what an agent prints can be a whole minified program."""
FILES = 5
"""Maximum number of files that are named."""
_PHASES = {"loading": "loading", "opening": "opening", "reply": "first reply", "closing": "closing"}


def show_checkup(found: AgentCheckup) -> None:
    """Print the result: a line for each thing that was seen, and for each failure what to do."""
    for name, words in _lines(found):
        click.echo(f"{name:<16} {words}")
    for stream, text in found.printed.items():
        click.echo(f"\nThe end of its {stream}:")
        for line in text.rstrip("\n").split("\n"):
            click.echo(one_line(line, LINE) if len(line) > LINE else printable(line))
    for notice in found.notices:
        click.echo(f"\nnote: {one_line(notice)}")
    for failure in found.failures:
        click.echo(f"\n{_failed(failure)}")
    if found.works:
        click.echo("\nThe exchange worked: this agent can be examined.")


def _lines(found: AgentCheckup) -> Iterator[tuple[str, str]]:
    yield "agent", one_line(found.spec, 400)
    told = {"connector": found.connector, "runs": found.runs, "version": found.version, "model": found.model}
    for name, words in {**told, **found.facts}.items():
        if words:
            yield one_line(name, 16), one_line(words, 400)
    for phase, name in _PHASES.items():
        if phase in found.seconds:
            yield name, _duration(found.seconds[phase])
    if found.reply is None:
        return
    yield "message", one_line(found.message, 200)
    yield "reply", one_line(found.reply, SHOWN) or "(empty)"
    yield "steps", _steps(found)
    yield "usage", _usage(found)
    yield "images", str(found.images) if found.images else "none in this reply"
    yield "files", _files(found)
    yield "state", one_line(found.state or "not asked for", 400)


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _steps(found: AgentCheckup) -> str:
    kinds = ", ".join(f"{number} {one_line(kind, 40)}" for kind, number in (found.steps or {}).items())
    return kinds or "none in this reply"


def _usage(found: AgentCheckup) -> str:
    if not found.usage:
        return "not reported in this reply"
    named = {"input_tokens": "input tokens", "output_tokens": "output tokens", "calls": "model calls"}
    words = [f"{found.usage[key]:,} {name}" for key, name in named.items() if key in found.usage]
    cost = f"${found.usage['cost']:.6f}" if "cost" in found.usage else "cost unknown"
    return ", ".join([*words, cost])


def _files(found: AgentCheckup) -> str:
    files = found.files or []
    if not files:
        return "none in its workspace"
    names = ", ".join(one_line(name, 60) for name in files[:FILES])
    return f"{counted(len(files), 'file')} in its workspace: {names}{', …' if len(files) > FILES else ''}"


def _failed(failure: CheckupFailure) -> str:
    whose = {"agent": "The agent failed", "setup": "The agent cannot be reached", "machine": "This machine failed"}
    words = f"{whose[failure.fault]} ({failure.at}): {printable(failure.problem)}"
    return f"{words}\nWhat to do: {failure.advice}" if failure.advice else words
