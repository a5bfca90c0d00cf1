"""Writes Markdown for a CI job's summary: the statistics, and then each distinct error and miss, on one screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from viva.records.run_record import RunRecord
from viva.records.transcript import NO_USAGE
from viva.records.wording import counted, dollars, usage_words
from viva.reports.console.suite import short_names
from viva.reports.examiner_words import examiner_lines
from viva.reports.facts import threshold_words
from viva.reports.journals import Journals
from viva.reports.markdown.bounded_text import BoundedText
from viva.reports.markdown.text import inert
from viva.reports.markdown.whys import FurtherInsights, add_whys
from viva.reports.number_words import interval, number, percent, percents
from viva.reports.reliability.calibration_words import calibration_lines
from viva.reports.reliability.hit_words import hit_lines
from viva.reports.reliability.lines import reliability_lines
from viva.reports.reliability.skipped_words import skipped_lines
from viva.reports.reliability.vote_words import vote_lines
from viva.reports.trajectory_words import trajectory_lines
from viva.reports.variant_words import PLURALS, VariantTable, variant_tables
from viva.statistics.groups import FEWEST_CASES, Group
from viva.statistics.summary import Figures, summarize
from viva.statistics.trajectory_figures import TrajectoryFigures

TABLES_LIMIT = 30_000
"""Maximum size of the tables in bytes. GitHub drops comments of more than 65,536 characters, and job summaries of more
than 1 MiB."""
MOST_ROWS = 30
"""Maximum number of rows of a table; the worst cases come first."""
MOST_LINES = 60
"""Maximum number of lines with figures of trajectories."""
MOST_AGENTS = 8
"""Maximum number of columns of the matrix; more are not readable."""
MOST_HELD = 4
MOST_NAMED_SCORES = 12


def write(journals: Journals, out: TextIO) -> None:
    """Write the summary; runs that are left out because of its size are counted.

    Raises:
        JournalError: a journal cannot be read.
    """
    insights = FurtherInsights(journals.threshold)
    figures = summarize(
        _added(journals, insights), journals.threshold, absent=journals.absent(), truths=journals.truths
    )
    figures = journals.names().in_figures(figures)
    labels = short_names([group.name for group in figures.agents])
    page = BoundedText()
    page.add("".join(f"> {inert(line)}\n\n" for line in journals.caveats()))
    page.add(_headline(figures, len(journals.unfinished()), journals))
    if lines := list(reliability_lines(figures, labels)):
        page.add("".join(f"- {inert(line)}\n" for line in lines) + "\n")
    if figures.agents:
        page.table("agents", _agents(figures, labels), TABLES_LIMIT // 3, MOST_ROWS)
        page.table("cases", _cases(figures, labels), TABLES_LIMIT, MOST_ROWS)
        if figures.tags:
            page.table("tags", _tags(figures, labels), TABLES_LIMIT + TABLES_LIMIT // 6, MOST_ROWS)
        if len(figures.evaluators) > 1 or any(each.scores for each in figures.evaluators):
            page.table("evaluators", _evaluators(figures, labels), TABLES_LIMIT + TABLES_LIMIT // 3, MOST_ROWS)
        for table in variant_tables(figures, labels):
            page.table(PLURALS[table.dimension], _variants(table), TABLES_LIMIT + TABLES_LIMIT // 2, MOST_ROWS)
            page.add("".join(f"{inert(line)} " for line in table.lines) + "\n\n" if table.lines else "")
        if figures.trajectories is not None:
            page.table("tools", _trajectories(figures.trajectories), TABLES_LIMIT + TABLES_LIMIT // 2, MOST_LINES)
        if figures.votes is not None:
            page.add("\n".join(f"- Votes: {inert(line)}" for line in vote_lines(figures)) + "\n\n")
        if figures.examiner is not None:
            page.add("\n".join(f"- {inert(line)}" for line in examiner_lines(figures, labels) if line) + "\n\n")
        if lines := list(hit_lines(figures.hit_layers)):
            page.add("\n".join(f"- {inert(line)}" for line in lines) + "\n\n")
        if lines := list(skipped_lines(figures)):
            page.add("".join(f"- Not scored: {inert(line)}\n" for line in lines) + "\n")
        page.add(_held(figures, labels))
        folders = [folder for folder, _ in journals.locations]
        lines = calibration_lines(figures.judges, folders)
        page.add("".join(f"- {inert(line)}\n" for line in lines) + "\n" if lines else "")
    add_whys(page, figures, labels, insights)
    out.write("".join(page.parts))


def _added(journals: Journals, insights: FurtherInsights) -> Iterator[RunRecord]:
    """Yield the records of all runs that ended, after adding the insights of each."""
    for entry in journals.quick_entries():
        insights.add(entry.record)
        yield journals.grouped(entry)


def _headline(figures: Figures, unfinished: int, journals: Journals) -> str:
    suite = figures.suite
    excluded = [f"{count} {kind}" for kind, count in suite.excluded.items()]
    if unfinished:
        excluded.append(f"{unfinished} unfinished")
    at_threshold = f"at a threshold of {threshold_words(figures)}"
    if not suite.runs:
        words = "## Nothing was scored\n\n" + ("" if excluded else "There is no finished run.")
    elif len(figures.agents) > 1:
        # No overall score: agents are not a sample of a population.
        words = f"## {len(figures.agents)} agents, {counted(suite.cases, 'case')}\n\n"
        words += f"**{suite.passes} of {counted(suite.runs, 'run')} passed** {at_threshold}."
    else:
        ends = "" if suite.too_few else f", 95 % {interval(suite.mean_interval)}"
        rate = "" if suite.too_few else f", 95 %: {percents(suite.pass_rate_interval).strip('()')}"
        words = f"## Score {number(suite.mean)}{ends}\n\n"
        words += f"**{suite.passes} of {counted(suite.runs, 'run')} passed** {at_threshold}"
        words += f" ({percent(suite.pass_rate)}{rate})."
    if any(agent.too_few for agent in figures.agents):
        words += f" Intervals need at least {FEWEST_CASES} cases."
    if excluded:
        words += f"{' ' if suite.runs else ''}Excluded from all averages: {', '.join(excluded)}."
    facts = [usage_words(sum(suite.usage.values(), NO_USAGE)), f"{suite.seconds:,.0f} s over all runs"]
    if suite.flaky_cases:
        facts.insert(0, counted(suite.flaky_cases, "flaky case"))
    if skipped := journals.damage.words("unreadable line"):
        facts.append(f"{skipped} of the journal skipped")
    line = ", ".join(facts)
    return f"{words}\n\n{line[0].upper()}{line[1:]}.\n\n"


def _held(figures: Figures, labels: dict[str, str]) -> str:
    """Return the SPEC of each agent, and how the exams were conducted; a weaker sandbox must be mentioned."""
    words = [
        f"<code>{inert(labels[agent.name])}</code> is <code>{inert(agent.name, 200)}</code>"
        for agent in figures.agents[:MOST_AGENTS]
        if labels[agent.name] != agent.name
    ]
    for held in figures.held[:MOST_HELD]:
        sandbox = f", sandbox {inert(held.sandbox)}" if held.sandbox else ""
        inside = f", agent {held.agent}" if held.agent else ""
        inside += f", suite {inert(held.suite)}" if held.suite else ""
        runs = f" ({counted(held.runs, 'run')})" if len(figures.held) > 1 else ""
        who = f"Examiner {inert(held.examiner) or 'unknown'}, judge {inert(held.judge) or 'unknown'}"
        words.append(f"{who}{sandbox}{inside}{runs}")
    return "".join(f"{line}. " for line in words) + "\n\n" if words else ""


def _agents(figures: Figures, labels: dict[str, str]) -> Iterator[str]:
    yield "| agent | runs | score | 95 % | pass rate | 95 % | cost per run | excluded |\n"
    yield "|:--|--:|--:|:--|--:|:--|--:|:--|\n"
    for group in figures.agents:
        excluded = ", ".join(f"{count} {kind}" for kind, count in group.excluded.items())
        cells = (
            f"<code>{inert(labels[group.name])}</code>",
            str(group.runs),
            number(group.mean),
            "too few" if group.too_few else interval(group.mean_interval),
            percent(group.pass_rate),
            "too few" if group.too_few else percents(group.pass_rate_interval),
            dollars(group.cost_mean),
            excluded or "-",
        )
        yield f"| {' | '.join(cells)} |\n"


def _cases(figures: Figures, labels: dict[str, str]) -> Iterator[str]:
    agents = [group.name for group in figures.agents][:MOST_AGENTS]
    cells = {(group.case, group.agent): group for group in figures.cells}
    heads = " | ".join(f"<code>{inert(labels[agent])}</code>" for agent in agents)
    yield f"| case | {heads} |\n"
    yield f"|:--|{'--:|' * len(agents)}\n"
    # The worst first: if not all fit, these are what readers look for.
    for case in sorted(figures.cases, key=lambda group: 2.0 if group.mean is None else group.mean):
        shown = " | ".join(_cell(cells.get((case.name, agent))) for agent in agents)
        yield f"| <code>{inert(case.name, 120)}</code> | {shown} |\n"


def _tags(figures: Figures, labels: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the table by tag, which includes families and the values of columns."""
    yield "| tag | agent | cases | runs | score | pass rate |\n"
    yield "|:--|:--|--:|--:|--:|--:|\n"
    for group in figures.tags:
        name, agent = inert(group.name, 80), inert(labels.get(group.agent or "", ""))
        counts = f"{group.cases} | {group.runs} | {number(group.mean)} | {percent(group.pass_rate)}"
        yield f"| <code>{name}</code> | <code>{agent}</code> | {counts} |\n"


def _trajectories(figures: TrajectoryFigures) -> Iterator[str]:
    yield "\n"
    for line in trajectory_lines(figures):
        yield f"- {inert(line)}\n" if not line.startswith(" ") else f"  - {inert(line.strip())}\n"


def _variants(table: VariantTable) -> Iterator[str]:
    """Yield the lines of a table by persona or by strategy."""
    yield f"| {' | '.join((inert(table.title), *table.heads[1:]))} |\n"
    yield f"|:--|{'--:|' * (len(table.heads) - 1)}\n"
    for row in table.rows:
        yield f"| {' | '.join((f'<code>{inert(row[0])}</code>', *map(inert, row[1:])))} |\n"


def _evaluators(figures: Figures, labels: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the evaluators' table, with a row for each agent if there are several."""
    yield "| evaluator | agent | judged | not judged | score | bounds | named scores |\n"
    yield "|:--|:--|--:|--:|--:|:--|:--|\n"
    for each in figures.evaluator_agents:
        scores = list(each.scores.items())[:MOST_NAMED_SCORES]
        cells = (
            f"<code>{inert(each.name, 80)}</code>{' (primary)' if each.primary else ''}",
            f"<code>{inert(labels.get(each.agent or '', ''))}</code>",
            str(each.judged),
            str(each.not_judged),
            number(each.mean),
            f"{each.low:.2f}-{each.high:.2f}" if each.has_bounds else "-",
            ", ".join(f"{inert(name, 40)} {value:.2f}" for name, value in scores) or "-",
        )
        yield f"| {' | '.join(cells)} |\n"


def _cell(group: Group | None) -> str:
    if group is None or group.mean is None:
        return "-"
    return f"{number(group.mean)} ({group.passes}/{group.runs}{', flaky' if group.flaky else ''})"
