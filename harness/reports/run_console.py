"""Shows runs on a terminal. Everything said by agents, models and cases is made harmless on its way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from harness.reports.facts import quote_line
from harness.statistics.cells import LAST_BIT
from harness.wording import judge_words, sandbox_words
from records.run_record import Outcome, RunRecord
from records.text import one_line, printable
from records.transcript import Round, Step, Transcript, Usage
from records.verdict import Insight, Label, Verdict

STYLES = {Label.HIT: "green", Label.MISS: "red", Label.UNSURE: "yellow", Label.ERROR: "magenta"}
OUTCOMES = {
    Outcome.SCORED: "the exam was held and judged in full",
    Outcome.TARGET_ERROR: "the agent failed; judged as it stands",
    Outcome.EXAMINER_ERROR: "the examiner failed; this says nothing about the agent",
    Outcome.JUDGE_ERROR: "not all could be judged; this says nothing about the agent",
    Outcome.INFRA_ERROR: "sandbox, disk, network or provider failed; this says nothing about the agent",
}


def run_report(record: RunRecord, journal: Path) -> RenderableType:
    """One run: its scoring points, its score, and how it was made."""
    parts: list[RenderableType] = [_points(insight) for insight in record.insights]
    parts.append(_facts(record, journal))
    style = (
        "green"
        if record.outcome is Outcome.SCORED and record.score == 1
        else "yellow"
        if record.outcome.counts
        else "red"
    )
    return Panel(Group(*parts), title=Text(f"{one_line(record.subject, 80)}"), title_align="left", border_style=style)


def score_line(record: RunRecord) -> str:
    """The score in words: `15/15 = 1.00`, with bounds where some points are open."""
    if record.points is None or record.max_points is None or record.score is None:
        return "no score"
    line = f"{record.points:g}/{record.max_points:g} = {record.score:.2f}"
    if record.low is not None and record.high is not None and record.high - record.low > LAST_BIT:
        line += f" (between {record.low:.2f} and {record.high:.2f}, some points are open)"
    return line


def _points(insight: Insight) -> Table:
    table = Table(expand=True, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("scoring point", ratio=2)
    table.add_column("reason and evidence", ratio=3)
    for verdict in insight.verdicts:
        table.add_row(
            Text(f"{verdict.weight:g}"),
            Text(one_line(verdict.label, 20), style=STYLES.get(verdict.label, "")),
            Text(one_line(verdict.statement or verdict.criterion, 300)),
            _why(verdict),
        )
    for note in insight.notes:
        table.add_row("", "", "", Text(one_line(note, 300), style="yellow"))
    return table


def _why(verdict: Verdict) -> Text:
    text = Text(one_line(verdict.reason, 400))
    for evidence in verdict.evidence[:3]:
        text.append(f"\n{quote_line(evidence, 200)}", style="cyan")
    text.append(f"\nby {one_line(verdict.by, 60)}", style="dim")
    if verdict.votes:
        votes = ", ".join(f"{one_line(judge, 40)}: {one_line(label, 20)}" for judge, label in verdict.votes.items())
        text.append(f" ({votes})", style="dim")
    if verdict.flags:
        text.append(f" [{one_line(', '.join(verdict.flags), 200)}]", style="yellow")
    return text


def _facts(record: RunRecord, journal: Path) -> Table:
    setting, timing = record.setting, record.timing
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def fact(name: str, value: str, style: str = "") -> None:
        # Once more for all: a journal may come from a stranger, who put anything into any field.
        table.add_row(name, Text(one_line(value, 1000), style=style))

    table.add_row("", "")
    aside = "" if record.outcome.counts or record.score is None else " (in no average)"
    fact("score", score_line(record) + aside, "bold")
    why = f": {one_line(record.error, 500)}" if record.error else ""
    fact("outcome", f"{record.outcome.value} ({OUTCOMES[record.outcome]}){why}")
    stop = record.stop.value if record.stop else "not ended"
    fact("rounds", f"{record.rounds} (stopped: {stop}; at most {setting.max_rounds})")
    fact(
        "agent",
        one_line(record.agent, 200)
        + (f" version {one_line(record.agent_version, 40)}" if record.agent_version else ""),
    )
    fact("examiner, judge", f"{one_line(setting.examiner, 60)}, {judge_words(setting)}")
    if setting.sandbox:
        weak = setting.sandbox_isolates is False
        fact(
            "sandbox", sandbox_words(setting) + (": for cases you trust only" if weak else ""), "yellow" if weak else ""
        )
    fact(
        "time",
        f"{timing.seconds:.1f} s (agent {timing.agent_seconds:.1f}, "
        f"examiner {timing.examiner_seconds:.1f}, judge {timing.judge_seconds:.1f})",
    )
    for line in usage_lines(record.usage):
        fact("tokens", line)
    fact("journal", str(journal))
    return table


def usage_lines(usage: Mapping[str, Usage]) -> list[str]:
    """Tokens and cost by role; roles that used none are left out."""
    lines = []
    for role, used in usage.items():
        if used.calls or used.input_tokens or used.output_tokens:
            cost = "cost unknown" if used.cost is None else f"${used.cost:.4f}"
            retries = f", {used.retries} retries" if used.retries else ""
            lines.append(
                f"{one_line(role, 40)}: {used.input_tokens:,} in, {used.output_tokens:,} out, "
                f"{used.calls} calls{retries}, {cost}"
            )
    return lines


def print_round(console: Console, round_: Round) -> None:
    """One round of a conversation as it was said."""
    _turn(console, f"{round_.number:>3} examiner", round_.examiner, "cyan")
    for step in round_.steps:
        _turn(console, "    step", _step(step), "red" if step.error else "dim")
    _turn(console, "    agent", round_.agent, "red" if round_.error else "green")
    for image in round_.images:
        _turn(console, "    picture", one_line(image, 200), "dim")


def _step(step: Step) -> str:
    given = one_line(str(step.tool_input), 200) if step.tool_input else ""
    parts = [f"{one_line(step.tool, 60)}({given})" if step.tool else one_line(step.kind.value, 60)]
    parts += [one_line(words, 300) for words in (step.thought, step.result) if words]
    if step.error:
        parts.append(f"failed: {one_line(step.error, 300)}")
    parts += [f"[{one_line(image, 200)}]" for image in step.images]
    return " ".join(parts)


def print_end(console: Console, transcript: Transcript) -> None:
    """How a conversation ended."""
    if transcript.stop is None:
        words = f"The conversation did not end; these are the {len(transcript.rounds)} rounds that were saved."
    else:
        detail = f": {one_line(transcript.stop_detail, 300)}" if transcript.stop_detail else ""
        words = f"{len(transcript.rounds)} rounds, stopped: {transcript.stop.value}{detail}"
    console.print(Text(words, style="bold"))
    for note in transcript.notes:
        console.print(Text(one_line(note, 300), style="yellow"))


def _turn(console: Console, who: str, words: str | None, style: str) -> None:
    if words is None:
        return
    shown = printable(words, 4000).rstrip("\n")
    if console.is_terminal:
        # Wrapped here, with an indent: what the terminal wraps begins in its first column, where a line padded with
        # blanks could pass for somebody else's turn.
        turn = Table.grid(padding=(0, 1))
        turn.add_column(width=13, no_wrap=True)
        turn.add_column(overflow="fold")
        turn.add_row(Text(who, style=f"bold {style}"), Text(shown))
        console.print(turn)
        return
    indent = " " * 14
    console.print(Text(f"{who:<13} " + shown.replace("\n", f"\n{indent}")), soft_wrap=True)
