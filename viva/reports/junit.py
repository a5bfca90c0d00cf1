"""Writes JUnit XML with a test suite for each agent and a test case for each run, for GitHub, GitLab and Jenkins.

It follows Jenkins' schema (junit-10.xsd of its xunit plugin), which has properties for suites but not for test cases: a
run's score is in its `system-out`, in the form `[[PROPERTY|name=value]]` that some readers recognize.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, TextIO
from xml.sax.saxutils import escape, quoteattr

from viva.exam.record import POINT_LABELS
from viva.records.run_record import Outcome, RunRecord
from viva.records.text import exact_line, one_line, printable
from viva.records.verdict import Insight, Verdict
from viva.records.wording import IN_PART, OUTCOMES, UNKNOWN, agent_words, played_words, score_line
from viva.reports.facts import Standing, further_insights, headline, missed, quote_line, standing, usage_of
from viva.reports.journals import Entry, Journals, Unfinished
from viva.reports.point_tree import path_words
from viva.statistics.cells import natural
from viva.statistics.groups import Group
from viva.statistics.missing.skipped import skipped_reason
from viva.statistics.scores import UNSCORED, primary_insight
from viva.statistics.summary import summarize

TEXT_LIMIT = 16_000
"""Maximum number of characters in one test case."""
MOST_INSIGHTS = 30
SPOOL = 1_000_000
BATCH = 100_000
"""Bytes that are written at once."""
# Non-characters that XML 1.0 forbids (2.2, Char); `printable` has escaped controls and surrogates.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


_Place = tuple[int, tuple[tuple[int, str], ...], int, int, int]
"""Where a test case is, in the order of the cases: kind of row, case, trial, begin in the body, and length."""


_natural = lru_cache(maxsize=4096)(natural)
"""The sort key of a case, computed once and shared by its runs: otherwise it would be most of the memory of 100,000
runs."""


def _aside() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(SPOOL, "w+b")  # closed by `write`


@dataclass(slots=True)
class _Suite:
    """The test cases of one agent, stored until their number is known."""

    body: IO[bytes] = field(default_factory=_aside)
    places: list[_Place] = field(default_factory=list)
    length: int = 0
    """Length of the body."""
    tests: int = 0
    failures: int = 0
    errors: int = 0
    skipped: int = 0
    requeued: int = 0
    """Number of runs that the user had done again."""
    seconds: float = 0.0
    started: float | None = None

    def add(self, text: str, case: str = "", trial: int = 0) -> None:
        """Store the text of a test case. Cases are in the order of all reports; what is no run of a case comes last."""
        length = self.body.write(text.encode())
        self.places.append((int(not case), _natural(case), trial, self.length, length))
        self.length += length

    def sorted_texts(self) -> Iterator[str]:
        """Yield the test cases in the order of their keys, and not of the completion of runs, many at a time."""
        self.places.sort()
        pieces, waiting = [], 0
        for *_, begin, length in self.places:
            self.body.seek(begin)
            pieces.append(self.body.read(length))
            waiting += length
            if waiting > BATCH:
                yield b"".join(pieces).decode()
                pieces, waiting = [], 0
        yield b"".join(pieces).decode()


def write(journals: Journals, out: TextIO) -> None:
    """Write the document.

    Runs below the threshold are failures; runs that say nothing about the agent, or never ended, are errors; runs with
    nothing to judge, which no gate misses, are skipped.

    Raises:
        JournalError: a journal cannot be read.
    """
    suites: defaultdict[str, _Suite] = defaultdict(_Suite)
    try:
        figures = summarize(_added(journals, suites), journals.threshold)
        for run in journals.unfinished():
            _add_unfinished(suites[run.agent], run)
        for folder, words in journals.unreadable().items():
            _add_unreadable(suites["viva"], folder, words)
        groups = {group.name: group for group in figures.agents}
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        totals = suites.values()
        out.write(
            f'<testsuites name="viva" tests="{sum(s.tests for s in totals)}" '
            f'failures="{sum(s.failures for s in totals)}" errors="{sum(s.errors for s in totals)}" '
            f'time="{sum(s.seconds for s in totals):.3f}">\n'
        )
        order = {agent: number for number, agent in enumerate(groups)}
        # In the order of all reports, and not of the completion of runs; what has no figures comes last.
        for agent, suite in sorted(suites.items(), key=lambda each: order.get(each[0], len(order))):
            _write_suite(out, agent, suite, groups.get(agent), journals)
        out.write("</testsuites>\n")
    finally:
        for suite in suites.values():
            suite.body.close()


def _added(journals: Journals, suites: Mapping[str, _Suite]) -> Iterator[RunRecord]:
    """Yield the records of all runs that ended, after adding each to the suite of its agent."""
    for entry in journals.quick_entries():
        _add_run(suites[entry.record.agent], entry, journals.threshold)
        yield entry.record


def _write_suite(out: TextIO, agent: str, suite: _Suite, group: Group | None, journals: Journals) -> None:
    out.write(
        f'<testsuite name={_attribute(agent, 300)} tests="{suite.tests}" failures="{suite.failures}" '
        f'errors="{suite.errors}" skipped="{suite.skipped}" time="{suite.seconds:.3f}"{_stamp(suite.started)}>\n'
        "<properties>\n"
    )
    caveats = (("caveat", words) for words in journals.caveats())
    requeued = [("requeued", str(suite.requeued))] if suite.requeued else []
    for name, value in (*_properties(group, journals.threshold), *requeued, *caveats):
        out.write(f"<property name={_attribute(name)} value={_attribute(value)}/>\n")
    out.write("</properties>\n")
    for text in suite.sorted_texts():
        out.write(text)
    out.write("</testsuite>\n")


def _stamp(started: float | None) -> str:
    """Return the attribute in ISO 8601; empty if the time is unknown or outside of the calendar."""
    if started is None:
        return ""
    try:
        return f' timestamp="{time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started))}"'
    except (OverflowError, ValueError, OSError):
        return ""


def _properties(group: Group | None, threshold: float) -> Iterator[tuple[str, str]]:
    yield "threshold", f"{threshold:g}"
    if group is None:
        return
    if group.mean is not None:
        yield "score", f"{group.mean:.6g}"
    if group.mean_interval is not None and not group.too_few:
        # Not `low` and `high`: everywhere in Viva, these are the bounds that open verdicts leave.
        yield "score.ci_low", f"{group.mean_interval.low:.6g}"
        yield "score.ci_high", f"{group.mean_interval.high:.6g}"
    if group.pass_rate is not None:
        yield "pass_rate", f"{group.pass_rate:.6g}"
    yield "runs", str(group.runs)
    for kind, number in group.excluded.items():
        yield f"excluded.{kind}", str(number)
    yield "flaky_cases", str(group.flaky_cases)
    yield "tokens", UNKNOWN if group.tokens is None else str(group.tokens)
    if group.tokens is not None and not group.tokens_known:
        yield "tokens.reported", IN_PART
    yield "cost", UNKNOWN if group.cost is None else f"{group.cost:.6f}"


def _add_run(suite: _Suite, entry: Entry, threshold: float) -> None:
    record = entry.record
    setting, timing, where = record.setting, record.timing, standing(record, threshold)
    suite.tests += 1
    suite.requeued += bool(setting.requeued)
    suite.seconds += timing.seconds
    if timing.started:
        suite.started = min(suite.started or timing.started, timing.started)
    fault = ""
    if where is Standing.FAILED:
        suite.failures += 1
        kind = "below_threshold" if record.outcome is Outcome.SCORED else record.outcome.value
        fault = _fault("failure", kind, _score_words(record), _missed_text(record))
    elif where is Standing.EXCLUDED and (reason := skipped_reason(record)) is not None:
        suite.skipped += 1
        fault = f"<skipped message={_attribute(f'not scored: {reason}')}/>\n"
    elif where is Standing.EXCLUDED and record.outcome.counts:
        suite.errors += 1
        fault = _fault("error", UNSCORED, "not scored: completed, but no evaluator gave a score", _missed_text(record))
    elif where is Standing.EXCLUDED:
        suite.errors += 1
        words = f"{OUTCOMES[record.outcome]}: {exact_line(record.error or 'no score', 400)}"
        fault = _fault("error", record.outcome.value, words, _missed_text(record))
    played = played_words(setting.persona, setting.strategy) if setting.persona or setting.strategy else ""
    name = f"{record.subject} (trial {record.trial}{', ' if played else ''}{played})"
    lines = "]]\n[[PROPERTY|".join(_run_facts(entry))
    suite.add(
        f"<testcase name={_attribute(name)} classname={_attribute(record.subject)} "
        f'time="{timing.seconds:.3f}">\n{fault}<system-out>{_text(f"[[PROPERTY|{lines}]]")}</system-out>\n</testcase>\n',
        record.subject,
        record.trial,
    )


def _run_facts(entry: Entry) -> list[str]:
    """Return what the document says of each run, as `name=value`."""
    record, setting, used = entry.record, entry.record.setting, usage_of(entry.record)
    tokens, cost = used.known_tokens, used.known_cost
    facts = [
        f"score={'none' if record.score is None else f'{record.score:.6g}'}",
        f"outcome={_value_words(record.outcome.value)}",
        f"rounds={one_line(str(record.rounds), 500)}",
        f"stop={_value_words(record.stop.value) if record.stop else 'unknown'}",
        f"tokens={UNKNOWN if tokens is None else tokens}",
        *([f"tokens.reported={IN_PART}"] if tokens is not None and not used.reported else []),
        f"cost={UNKNOWN if cost is None else f'{cost:.6f}'}",
        f"run={one_line(f'{entry.folder}#{record.id}', 500)}",
    ]
    if setting.requeued:
        facts.append(f"requeued={one_line(', '.join(setting.requeued), 500)}")
    if setting.suite:
        facts.append(f"suite={one_line(setting.suite, 100)}")
    if setting.threshold is not None:
        facts.append(f"threshold={setting.threshold:g}")
    if words := agent_words(setting):
        facts.append(f"agent={one_line(words, 500)}")
    facts += [f"evaluator={each}" for each in _insights(record)]
    return facts


@lru_cache(maxsize=256)
def _value_words(value: str) -> str:
    """Return the value of an outcome or a stop reason, of which there are few."""
    return one_line(value, 500)


def _add_unfinished(suite: _Suite, run: Unfinished) -> None:
    suite.tests += 1
    suite.errors += 1
    fault = _fault("error", "unfinished", "the run did not end", f"{run.folder}#{run.id}")
    head = f"<testcase name={_attribute(f'{run.case} ({run.id})')} classname={_attribute(run.case)}>\n"
    suite.add(f"{head}{fault}</testcase>\n", run.case, sys.maxsize)


def _add_unreadable(suite: _Suite, folder: Path, words: str) -> None:
    """Add an error for a journal: a document without test cases would count as passed."""
    suite.tests += 1
    suite.errors += 1
    fault = _fault("error", "unreadable", f"no line of the journal can be read: {words}", str(folder))
    head = f"<testcase name={_attribute(str(folder))} classname={_attribute('journal')}>\n"
    suite.add(f"{head}{fault}</testcase>\n")


def _insights(record: RunRecord) -> Iterator[str]:
    """Yield the result of each further evaluator, with its summary."""
    for insight in further_insights(record)[:MOST_INSIGHTS]:
        summary = f" ({one_line(insight.summary, 300)})" if insight.summary else ""
        yield one_line(headline(insight, record.id) + summary, 500)


def _score_words(record: RunRecord) -> str:
    return f"{score_line(record)}{f': {exact_line(record.error, 400)}' if record.error else ''}"


def _missed_text(record: RunRecord) -> str:
    parts = [exact_line(record.error, 2000)] if record.error else []
    main = primary_insight(record)
    parts += [_verdict_text(verdict, main) for verdict in missed(record)]
    return "\n\n".join(parts)


def _verdict_text(verdict: Verdict, main: Insight | None) -> str:
    weight = f" (weight {verdict.weight:g})" if verdict.label in POINT_LABELS else ""
    lines = [f"{verdict.label.upper()}{weight}: {one_line(verdict.statement or verdict.criterion)}"]
    if main is not None and (path := path_words(main, verdict.criterion)):
        lines.append(f"  in {one_line(path, 400)}")
    if verdict.reason:
        lines.append(f"  {exact_line(verdict.reason, 1000)}")
    lines += [f"  {quote_line(evidence)}" for evidence in verdict.evidence[:5]]
    lines.append(f"  by {one_line(verdict.by, 80)}")
    return "\n".join(lines)


def _fault(tag: str, kind: str, message: str, text: str) -> str:
    return f'<{tag} type="{kind}" message={_attribute(message)}>{_text(text)}</{tag}>\n'


def _text(text: str) -> str:
    """Return the content of an element. `>` is escaped too, so the content cannot contain `]]>`."""
    return escape(_fit(printable(text, TEXT_LIMIT)))


def _attribute(text: str, limit: int = 400) -> str:
    shown = _fit(one_line(text, limit))
    # As `quoteattr` does it, which replaces six characters one after the other.
    return quoteattr(shown) if _QUOTED.search(shown) else f'"{shown}"'


_QUOTED = re.compile('[&<>"\n\r\t]')
"""What has to be escaped in an attribute, or needs other quotes."""


def _fit(text: str) -> str:
    return text if text.isascii() else _FORBIDDEN.sub("\ufffd", text)
