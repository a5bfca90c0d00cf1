"""The tools that read journals: why runs failed, which runs there are, one conversation, two journals compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from viva.cli.assistants.answers import ROOM, answer, marked, piece_of, rendered, tells_errors
from viva.cli.assistants.places import journal_below
from viva.cli.commands.compare import runs_of
from viva.cli.daily.filter_options import filters_from
from viva.errors import SetupError
from viva.journal.reader import StoredRun, read_runs
from viva.journal.writer import Damage
from viva.judge.steps import new_marker
from viva.judge.view import show
from viva.records.run_record import RunRecord
from viva.records.text import counted, exact_line, one_line
from viva.records.wording import score_line
from viva.reports.console.comparison import comparison_report
from viva.reports.console.whys import id_words, left_out_words, name_words, points_words, quoted
from viva.reports.facts import missed, quote_line, standing
from viva.reports.journals import Journals, joined
from viva.statistics.causes.cause import Cause
from viva.statistics.comparison import compare
from viva.statistics.comparison_inputs import choose_agents
from viva.statistics.error_groups import ErrorGroup

MOST_RUNS = 2_000
MOST_VERDICTS = 200


def _subject(journal: str, where: str | None, threshold: float) -> Journals:
    """Return the runs of a journal that a filter keeps.

    Raises:
        SetupError: the journal is elsewhere, or the filter is not valid.
        JournalError: there is no such journal.
    """
    folder, run = journal_below(journal)
    reference = str(folder) if run is None else f"{folder}#{run}"
    subject = joined([reference], threshold, None, filters_from({"where": where}, threshold))
    subject.check()
    return subject


@tells_errors
def explain_failures(journal: str, where: str | None = None, threshold: float = 1.0, offset: int = 0) -> str:
    """Explain what the runs of a journal missed and which errors they had, most frequent first.

    Each has the verdict's reason, quotes, one run to look at, and the command that prints it.

    Args:
        journal: The folder of a journal, or FOLDER#RUN-ID.
        where: Only runs for which this is true, such as "agent~gpt and tag=smoke" (see `viva docs daily`).
        threshold: The score of a passing run.
        offset: Where to go on, as the answer before said.
    """
    subject = _subject(journal, where, threshold)
    figures = subject.figures()
    whole = figures.suite
    folder = subject.locations[0][0]
    groups: list[ErrorGroup | Cause] = [*figures.troubles, *figures.misses]
    lines = [line for number, group in enumerate(groups, 1) for line in _group_lines(number, group, folder)]
    mean = "none" if whole.mean is None else f"{whole.mean:.2f}"
    notes = [*subject.caveats()]
    if figures.misses_all > len(figures.misses):
        notes.append(f"{counted(figures.misses_all - len(figures.misses), 'more kind')} of misses: narrow by where")
    if figures.misses_left_out:
        notes.append(left_out_words(figures))
    head = (
        f"{folder}: {counted(whole.runs, 'counted run')}, mean score {mean}, {counted(len(groups), 'kind')} of failure."
    )
    return answer("\n".join((head, *notes)), "\n".join(lines), offset)


def _group_lines(number: int, group: ErrorGroup | Cause, folder: Path) -> Iterator[str]:
    if isinstance(group, ErrorGroup):
        yield f"{number}. {counted(group.runs, 'run')}, {group.outcome.value}: {group.words}"
    else:
        cases = one_line(group.case, 100) if group.cases == 1 else f"{counted(group.cases, 'case')}"
        points = f"{name_words(group)}{points_words(group, 400)} ({cases}; {id_words(group)})"
        yield f"{number}. {counted(group.runs, 'run')}, {group.label}: {points}"
        if group.reason:
            yield f"   reason in {counted(group.reason_runs, 'run')}: {group.reason}"
        for quote in filter(None, group.quotes):
            yield f"   quote: {quote}"
        if len(group.agents) > 1:
            yield f"   agents: {', '.join(f'{one_line(name, 80)} {count}' for name, count in group.agents.items())}"
    yield f"   one of them: {group.run} (viva replay {quoted(f'{folder}#{group.run}')})"


@tells_errors
def find_runs(journal: str, where: str | None = None, threshold: float = 1.0, offset: int = 0) -> str:
    """List the runs of a journal that a filter keeps: id, case, agent, trial, how they ended, score, what they missed.

    Args:
        journal: The folder of a journal.
        where: Only runs for which this is true, such as "status=failed and point.p-2=miss" (see `viva docs daily`).
        threshold: The score of a passing run.
        offset: Where to go on, as the answer before said.
    """
    subject = _subject(journal, where, threshold)
    found = (entry.record for entry in subject.quick_entries())
    lines = [_run_line(record, threshold) for record in islice(found, MOST_RUNS)]
    more = sum(1 for _ in found)
    unfinished = [
        f"{run.id}: {one_line(run.case, 80)} · {one_line(run.agent, 80)}: unfinished" for run in subject.unfinished()
    ]
    head = f"{counted(len(lines) + more, 'run')} with a record, {len(unfinished):,} without."
    if more:
        head += f" Only the first {MOST_RUNS:,} are listed; narrow them by where."
    return answer("\n".join((head, *subject.caveats())), "\n".join((*lines, *unfinished[:MOST_RUNS])), offset)


def _run_line(record: RunRecord, threshold: float) -> str:
    misses = [verdict.statement or verdict.criterion for verdict in missed(record)[:3]]
    why = record.error or (f"missed: {'; '.join(misses)}" if misses else "")
    trial = f" · trial {record.trial}" if record.trial > 1 else ""
    what = f"{record.id}: {record.subject} · {record.agent}{trial}: {standing(record, threshold).value}"
    return one_line(f"{what}, {record.outcome.value}, {score_line(record)}{f'; {why}' if why else ''}", 500)


@tells_errors
def read_run(journal: str, run: str, first_round: int = 1, offset: int = 0) -> str:
    """Read one run: its verdicts with reasons and evidence, then the conversation with the agent's steps, by rounds.

    Args:
        journal: The folder of a journal.
        run: The id of the run, as other tools give it.
        first_round: The first round to read; the answer says where to go on.
        offset: Where to go on in a round that is longer than an answer, as the answer before said.
    """
    folder, _ = journal_below(journal)
    stored = next(iter(read_runs(folder, run, Damage())), None)
    if stored is None:
        raise SetupError(f"{folder} holds no run {one_line(run, 100)!r}; find_runs lists them.")
    mark = new_marker()
    begins = first_round <= 1 and not offset
    text, more = "\n".join(_verdict_lines(stored)) if begins else "", ""
    for round_ in stored.transcript.rounds:
        if round_.number < first_round:
            continue
        shown = show(replace(stored.transcript, rounds=(round_,), given=()), mark).text
        whole = f"{text}\n{shown}" if text else shown
        if len(whole) <= ROOM and not offset:
            text = whole
            continue
        if text and not offset:
            more = f"next: first_round={round_.number}"
            break
        piece = piece_of(shown, offset)
        text = piece.text
        after = [each.number for each in stored.transcript.rounds if each.number > round_.number]
        more = f"next: first_round={round_.number}, offset={piece.next}" if piece.next else ""
        more = more or (f"next: first_round={after[0]}" if after else "")
        break
    return marked(_run_head(stored, folder), text or "(nothing was said)", more)


def _run_head(stored: StoredRun, folder: Path) -> str:
    rounds = counted(len(stored.transcript.rounds), "round")
    record = stored.record
    ended = "has no record" if record is None else f"{record.outcome.value}, {score_line(record)}"
    replay = f"viva replay {quoted(f'{folder}#{stored.id}')}"
    gap = f" It has a gap: {stored.gap}." if stored.gap else ""
    return one_line(f"{stored.id}: {rounds}, {ended}.{gap} To print it: {replay}", 1200)


def _verdict_lines(stored: StoredRun) -> Iterator[str]:
    record = stored.record
    if record is None:
        return
    yield f"case {one_line(record.subject, 200)}, agent {one_line(record.agent, 200)}, trial {record.trial}"
    if record.error:
        yield f"error: {exact_line(record.error, 1000)}"
    for insight in record.insights:
        yield f"verdicts of {one_line(insight.evaluator, 80)}:"
        for verdict in insight.verdicts[:MOST_VERDICTS]:
            statement = one_line(verdict.statement or verdict.criterion, 300)
            yield f"- {one_line(str(verdict.label), 40)}: {statement}"
            if verdict.reason:
                yield f"  reason: {exact_line(verdict.reason, 600)}"
            for evidence in verdict.evidence[:3]:
                yield f"  evidence: {one_line(quote_line(evidence), 400)}"


@tells_errors
def compare_journals(before: str, after: str, threshold: float = 1.0, offset: int = 0) -> str:
    """Compare two journals case by case, as `viva compare` does: what got better or worse, and whether it is chance.

    Args:
        before: The folder of the earlier journal.
        after: The folder of the later one.
        threshold: The score of a passing run.
        offset: Where to go on, as the answer before said.
    """
    damage = Damage()
    one, two = (runs_of(str(journal_below(each)[0]), damage, None) for each in (before, after))
    reports = []
    for pair in choose_agents(one, two, None):
        found = compare(one, two, pair, threshold)
        names = " and ".join(one_line(agent, 100) for agent in dict.fromkeys(pair))
        reports.append(
            f"{names}: no case has a counted run on both sides."
            if found is None
            else rendered(comparison_report(found))
        )
    skipped = damage.words()
    return answer(
        f"{before} compared with {after}.{f' {skipped} skipped.' if skipped else ''}", "\n".join(reports), offset
    )
