"""Writes Markdown for a CI job's summary: the statistics, and then what the failed runs missed, as far as it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from harness.exam.record import POINT_LABELS
from harness.reports.bounded_text import BoundedText
from harness.reports.facts import Standing, further_insights, headline, missed, standing
from harness.reports.journals import Entry, Journals
from harness.reports.suite_console import interval, number, percent, percents, short_names
from harness.reports.trajectory_words import trajectory_lines
from harness.statistics.groups import FEWEST_CASES, Group
from harness.statistics.scores import score_of
from harness.statistics.summary import Figures
from harness.statistics.trajectory_figures import TrajectoryFigures
from harness.wording import counted, dollars, usage_words
from records.text import one_line
from records.transcript import NO_USAGE
from records.verdict import Insight, Verdict

SIZE_LIMIT = 60_000
"""Maximum size in bytes. GitHub drops job summaries of more than 1 MiB and comments of more than 65,536 characters."""
TABLES_LIMIT = 30_000
"""Maximum size of the tables in bytes."""
MOST_AGENTS = 8
"""Maximum number of columns of the matrix; more are not readable."""
MOST_HELD = 4
MOST_VERDICTS = 8
MOST_INSIGHTS = 8
MOST_NAMED_SCORES = 12

# The characters with a meaning in Markdown, in HTML, or in GitHub's autolinks. An underscore within a word has none in
# any dialect in use.
_SPECIAL = re.compile(r"[\\`*{}\[\]()<>#+!|~@:&$=^\"]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.", re.IGNORECASE)


def inert(text: str, limit: int = 300) -> str:
    """Return text on one line that Markdown shows literally.

    Special characters become character references, which never form structure (CommonMark 2.5). GitHub still looks for
    mentions and references to issues, so an invisible space behind `@` and `#` prevents notifications.
    """

    def reference(match: re.Match[str]) -> str:
        character = match.group()
        return f"&#{ord(character)};" + ("&#8203;" if character in "@#" else "")

    return _SPECIAL.sub(reference, one_line(text, limit))


def write(journals: Journals, out: TextIO) -> None:
    """Write the summary; runs that are left out because of its size are counted.

    Raises:
        JournalError: a journal cannot be read.
    """
    figures = journals.figures()
    labels = short_names([group.name for group in figures.agents])
    page = BoundedText(SIZE_LIMIT)
    page.always(_headline(figures, len(journals.unfinished()), journals))
    if figures.agents:
        page.table("agents", _agents(figures, labels), TABLES_LIMIT // 3)
        page.table("cases", _cases(figures, labels), TABLES_LIMIT)
        if len(figures.evaluators) > 1 or any(each.scores for each in figures.evaluators):
            page.table("evaluators", _evaluators(figures, labels), TABLES_LIMIT + TABLES_LIMIT // 3)
        if figures.trajectories is not None:
            page.table("tools", _trajectories(figures.trajectories), TABLES_LIMIT + TABLES_LIMIT // 2)
        page.always(_held(figures, labels))
    failed = 0
    for entry in journals.entries():
        if standing(entry.record, journals.threshold) is Standing.PASSED:
            continue
        if not failed:
            page.always("### What was missed\n\n")
        failed += 1
        page.item(_run(entry, labels))
    if page.left_out:
        page.always(
            f"\nLeft out here: {counted(page.left_out, 'more run')} that did not pass; `viva report` shows all.\n"
        )
    out.write("".join(page.parts))


def _headline(figures: Figures, unfinished: int, journals: Journals) -> str:
    suite = figures.suite
    excluded = [f"{count} {kind}" for kind, count in suite.excluded.items()]
    if unfinished:
        excluded.append(f"{unfinished} unfinished")
    if not suite.runs:
        words = "## Nothing was scored\n\n" + ("" if excluded else "There is no run that ended.")
    elif len(figures.agents) > 1:
        # No overall score: agents are not a sample of a population.
        words = f"## {len(figures.agents)} agents, {counted(suite.cases, 'case')}\n\n"
        words += f"**{suite.passes} of {suite.runs} runs passed** at a threshold of {figures.threshold:g}."
    else:
        ends = "" if suite.too_few else f", 95 % {interval(suite.mean_interval)}"
        rate = "" if suite.too_few else f", 95 %: {percents(suite.pass_rate_interval).strip('()')}"
        words = f"## Score {number(suite.mean)}{ends}\n\n"
        words += f"**{suite.passes} of {suite.runs} runs passed** at a threshold of {figures.threshold:g}"
        words += f" ({percent(suite.pass_rate)}{rate})."
    if any(agent.too_few for agent in figures.agents):
        words += f" Intervals need at least {FEWEST_CASES} cases."
    if excluded:
        words += f"{' ' if suite.runs else ''}Excluded, in no average: {', '.join(excluded)}."
    facts = [usage_words(sum(suite.usage.values(), NO_USAGE)), f"{suite.seconds:,.0f} s over all runs"]
    if suite.flaky_cases:
        facts.insert(0, counted(suite.flaky_cases, "flaky case"))
    if skipped := journals.damage.words("unreadable line"):
        facts.append(f"{skipped} of the journal skipped")
    return f"{words}\n\n{', '.join(facts)}.\n\n"


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


def _trajectories(figures: TrajectoryFigures) -> Iterator[str]:
    yield "\n"
    for line in trajectory_lines(figures):
        yield f"- {inert(line)}\n" if not line.startswith(" ") else f"  - {inert(line.strip())}\n"


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


def _run(entry: Entry, labels: dict[str, str]) -> str:
    record = entry.record
    score = f"score {record.score or 0:.2f}" if score_of(record) else "in no average"
    agent = labels.get(record.agent, record.agent)
    lines = [
        f"* **<code>{inert(record.subject, 120)}</code>**, <code>{inert(agent)}</code>, "
        f"trial {record.trial}: {record.outcome.value}, {score}"
        + (f". {inert(record.error, 400)}" if record.error else "")
    ]
    verdicts = missed(record)
    lines += [_verdict(verdict) for verdict in verdicts[:MOST_VERDICTS]]
    if len(verdicts) > MOST_VERDICTS:
        lines.append(f"    * and {counted(len(verdicts) - MOST_VERDICTS, 'more point')}")
    lines += [_insight(insight, record.id) for insight in further_insights(record)[:MOST_INSIGHTS]]
    return "\n".join(lines) + "\n"


def _insight(insight: Insight, run: str) -> str:
    """Return the label, scores, summary and notes of another evaluator."""
    parts = [f"    * {inert(headline(insight, run), 300)}"]
    parts += [inert(words, 300) for words in (insight.summary, *insight.notes[:3]) if words]
    return " — ".join(parts)


def _verdict(verdict: Verdict) -> str:
    weight = f" (weight {verdict.weight:g})" if verdict.label in POINT_LABELS else ""
    parts = [f"    * {inert(verdict.label, 30)}{weight}: {_sentence(verdict)}"]
    parts += [inert(verdict.reason, 300)] if verdict.reason else []
    parts += [_quotes(verdict)] if verdict.evidence else []
    return " — ".join(parts)


def _sentence(verdict: Verdict) -> str:
    return f"**{inert(verdict.statement or verdict.criterion, 200)}**"


def _quotes(verdict: Verdict) -> str:
    shown: Sequence[str] = [
        f"{inert(evidence.where, 40)} "
        + (f"<q>{inert(evidence.quote, 160)}</q>" if evidence.quote else "(its screenshot)")
        for evidence in verdict.evidence[:2]
    ]
    return ", ".join(shown)
