"""Shows runs on a terminal. All text from agents, models and cases is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from viva.filters.stored_cases import StoredCases
from viva.records.run_record import Outcome, RunRecord
from viva.records.text import exact_line, one_line, printable
from viva.records.trajectory import answer_of, trajectory_steps, unmarked_count, written_of
from viva.records.transcript import Round, Step, StepKind, Transcript, Usage
from viva.records.verdict import Verdict
from viva.records.wording import (
    IN_PROCESS,
    cached_words,
    cost_words,
    counted,
    judge_words,
    outcome_line,
    sandbox_words,
    score_line,
    usage_words,
)
from viva.reports.case_words import fact_rows
from viva.reports.console.insights import insight_tables, verdict_lines
from viva.reports.facts import own_threshold_words
from viva.reports.fork_words import fork_words
from viva.reports.reliability.calibration_words import calibration_lines
from viva.reports.reliability.hit_words import hit_lines_of
from viva.reports.trajectory_words import trajectory_lines
from viva.statistics.calibration.uses import JudgeTallies
from viva.statistics.trajectories import TrajectoryTally

PRINTED_SHOWN = 2000
"""Characters at the end of what an agent printed that are shown."""
FACTS_SHOWN = 12
"""Values of the case's row and of metadata that are shown."""
STEP_SHOWN = 1000
"""Characters of a step's thought, and of its result."""


def run_report(record: RunRecord, journal: Path) -> RenderableType:
    """Show one run: the insights of each evaluator, the score, and the setting."""
    parts: list[RenderableType] = list(insight_tables(record))
    tally = TrajectoryTally()
    tally.add(record)
    if (figures := tally.figures()).runs:
        parts.extend([Text(), *map(Text, trajectory_lines(figures))])
    parts.extend(Text(line, style="yellow") for line in hit_lines_of([record]))
    parts.append(_facts(record, journal))
    style = (
        "green"
        if record.outcome is Outcome.SCORED and record.score == 1
        else "yellow"
        if record.outcome.counts
        else "red"
    )
    return Panel(Group(*parts), title=Text(f"{one_line(record.subject, 80)}"), title_align="left", border_style=style)


def _facts(record: RunRecord, journal: Path) -> Table:
    setting, timing = record.setting, record.timing
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def fact(name: str, value: str, style: str = "") -> None:
        # Escaped again, because any field of a stranger's journal may contain anything.
        table.add_row(name, Text(one_line(value, 1000), style=style))

    table.add_row("", "")
    excluded = "" if record.outcome.counts or record.score is None else " (excluded from all averages)"
    fact("score", score_line(record) + excluded, "bold")
    if setting.threshold is not None:
        fact("passes from", own_threshold_words(setting.threshold))
    why = f": {exact_line(record.error, 500)}" if record.error else ""
    fact("outcome", outcome_line(record) + why)
    fact("rounds", str(record.rounds) + _rounds_words(record))
    fact(
        "agent",
        one_line(record.agent, 200)
        + (f" version {one_line(record.agent_version, 40)}" if record.agent_version else "")
        + (f" ({IN_PROCESS})" if setting.in_process else ""),
    )
    if setting.requeued:
        fact("requeued", f"it ended as {', then '.join(one_line(each, 40) for each in setting.requeued)} before")
    for name, value in fact_rows(StoredCases(journal).facts(record))[:FACTS_SHOWN]:
        fact(one_line(name, 60), exact_line(value, 300))
    if setting.forked_from:
        fact("forked from", fork_words(setting.forked_from))
    if setting.source:
        fact("source", f"{one_line(setting.source, 300)} ({one_line(setting.place, 300)})")
    fact("examiner, judge", f"{one_line(setting.examiner, 60)}, {judge_words(setting)}")
    judges = JudgeTallies()
    judges.add(record)
    for line in calibration_lines(judges.uses(), [journal]):
        fact("judge", line.removeprefix("judge "))
    for name in ("suite", "persona", "strategy"):
        if played := getattr(setting, name):
            fact(name, one_line(played, 60))
    if setting.sandbox:
        weak = setting.sandbox_isolates is False
        fact("sandbox", sandbox_words(setting) + (": only for trusted cases" if weak else ""), "yellow" if weak else "")
    fact(
        "time",
        f"{timing.seconds:.1f} s (agent {timing.agent_seconds:.1f}, "
        f"examiner {timing.examiner_seconds:.1f}, judge {timing.judge_seconds:.1f})",
    )
    for line in record_usage_lines(record):
        fact("tokens", line)
    if record.cached_answers:
        fact("", cached_words(record.cached_answers))
    fact("journal", str(journal))
    return table


def _rounds_words(record: RunRecord) -> str:
    """Return how a conversation stopped, in words; recordings may not say so, and have no maximum."""
    setting = record.setting
    stop = record.stop.value if record.stop else "" if setting.source else "not ended"
    limit = f"at most {setting.max_rounds}" if setting.max_rounds else ""
    words = "; ".join(part for part in (f"stopped: {stop}" if stop else "", limit) if part)
    return f" ({words})" if words else ""


def record_usage_lines(record: RunRecord) -> list[str]:
    """Return lines with tokens and cost by role, and those of the judge by evaluator if there were several."""
    lines = usage_lines(record.usage)
    if len(record.insights) > 1:
        own = {f"judge, {insight.evaluator}": insight.usage for insight in record.insights}
        lines += usage_lines(own)
    return lines


def _tokens(used: Usage) -> str:
    if used.known_tokens is None:
        return "tokens unknown"
    return f"{'' if used.reported else 'at least '}{used.input_tokens:,} in, {used.output_tokens:,} out"


def usage_lines(usage: Mapping[str, Usage]) -> list[str]:
    """Return lines with tokens and cost by role; they are unknown if an agent did not report them."""
    lines = []
    for role, used in usage.items():
        if used.known:
            retries = f", {counted(used.retries, 'retry', 'retries')}" if used.retries else ""
            lines.append(
                f"{one_line(role, 60)}: {_tokens(used)}, {counted(used.calls, 'call')}{retries}, {cost_words(used)}"
            )
        elif role == "target":
            lines.append(f"{role}: {usage_words(used)}")
    return lines


def print_round(console: Console, round_: Round, verdicts: Mapping[str, Sequence[Verdict]] | None = None) -> None:
    """Print one round of a conversation as it was said.

    Args:
        console: The console to print to.
        round_: The round.
        verdicts: The verdicts about a round or step, by its id (`facts.verdicts_by_subject`), which are printed there.
    """
    about = verdicts or {}
    _turn(console, f"{round_.number:>3} examiner", round_.examiner, "cyan")
    # Of a recorded trace, the agent's decisions alone: a span for each part of its framework is no step of a reader's.
    for step in trajectory_steps(round_.steps):
        answers = answer_of(step)
        if answers is None or answers != round_.agent or step.thought or step.error:
            _print_step(console, step)
        _print_verdicts(console, about.get(step.id, ()))
    if beside := unmarked_count(round_.steps):
        _turn(console, "    spans", f"{counted(beside, 'further span')} in the journal", "dim")
    _turn(console, "    agent", round_.agent, "red" if round_.error else "green")
    _turn(console, "    viva", f"the agent failed: {round_.error}" if round_.error else None, "red")
    for image in round_.images:
        _turn(console, "    image", one_line(image, 200), "dim")
    _print_verdicts(console, about.get(round_.id, ()))


def _print_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    for line in verdict_lines(verdicts):
        _turn(console, "    verdict", line.plain, str(line.style))


def _print_step(console: Console, step: Step) -> None:
    """Print what a step thought, did and got, each on lines of its own."""
    _turn(console, "    thought", _part(step.thought), "dim")
    if (done := _action(step)) is not None:
        # In the name of the line, which no text of an agent can imitate.
        who = "  environment" if step.from_environment else "    step"
        _turn(console, who, done, "red" if step.error else "dim")
    _turn(console, "    result", _part(step.result), "dim")
    _turn(console, "    failed", one_line(step.error, 300) if step.error else None, "red")
    for image in step.images:
        _turn(console, "    image", one_line(image, 200), "dim")


def _part(words: str | None) -> str | None:
    return printable(words, STEP_SHOWN) if words else None


def _action(step: Step) -> str | None:
    """Return the call, or the kind of step; None for a step that only thought."""
    written = written_of(step)
    if step.kind is StepKind.THINK and step.thought and not step.tool and written is None:
        return None
    given = one_line(str(step.tool_input), 200) if step.tool_input else ""
    plain = "answer" if answer_of(step) is not None else step.kind.value
    action = f"{one_line(step.tool, 60)}({given})" if step.tool else one_line(plain, 60)
    return action if written is None else f"{action} [written as {one_line(written, 200)}]"


def print_end(console: Console, transcript: Transcript) -> None:
    """Print how a conversation ended."""
    if transcript.stop is None and not transcript.ended:
        words = f"The conversation did not end. {counted(len(transcript.rounds), 'round')} saved."
    else:
        stop = f", stopped: {transcript.stop.value}" if transcript.stop is not None else ""
        detail = f": {one_line(transcript.stop_detail, 300)}" if transcript.stop_detail else ""
        words = f"{counted(len(transcript.rounds), 'round')}{stop}{detail}"
    for image in transcript.images:
        _turn(console, "final picture", one_line(image, 200), "dim")
    console.print(Text(words, style="bold"))
    for note in transcript.notes:
        console.print(Text(one_line(note, 300), style="yellow"))
    for stream, text in transcript.printed.items():
        shown = text if len(text) <= PRINTED_SHOWN else f"… {text[-PRINTED_SHOWN:]}"
        _turn(console, f"its {one_line(stream, 8)}", shown, "dim")


def _turn(console: Console, who: str, words: str | None, style: str) -> None:
    if words is None:
        return
    shown = printable(words, 4000).rstrip("\n")
    if console.is_terminal:
        # Wrapped here, with an indent: if the terminal wrapped the text, a line padded with blanks could start in the
        # first column and look like another speaker's turn.
        turn = Table.grid(padding=(0, 1))
        turn.add_column(width=13, no_wrap=True)
        turn.add_column(overflow="fold")
        turn.add_row(Text(who, style=f"bold {style}"), Text(shown))
        console.print(turn)
        return
    indent = " " * 14
    console.print(Text(f"{who:<13} " + shown.replace("\n", f"\n{indent}")), soft_wrap=True)
