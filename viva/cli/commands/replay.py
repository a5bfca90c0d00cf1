"""The command `viva replay JOURNAL`: prints stored conversations, or asks another agent the same questions."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from viva.cli import completion
from viva.cli.json_pieces import json_pieces
from viva.cli.options import (
    call_option,
    concurrency_option,
    given_options,
    options_from,
    out_option,
    resume_options,
    resumed_request,
    shared_options,
    single_option,
    sinks_option,
)
from viva.cli.parameter_types import NumberRange
from viva.cli.process import fail, report_user_errors, run_async, separate_stdout
from viva.cli.run_choice import RunChoice, run_choice, run_choice_options
from viva.cli.stopping import STOPPED
from viva.errors import SetupError
from viva.exam.examiners import MODEL, REPLAY, SCRIPT
from viva.exam.forking.fork import Means
from viva.exam.judging.exchanges import NotReadable, exchanges_of
from viva.exam.last_words import read_last_words
from viva.exam.options import JudgeKind, Part
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.paths import derived_name, new_journal_folder, newest_journal, refuse_journal
from viva.journal.reader import StoredRun, read_records, read_runs, split_reference
from viva.journal.run_index import index_runs
from viva.journal.writer import Damage
from viva.records.codec import to_plain
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.wording import counted, is_unscored, score_line
from viva.reports.console.exchanges import ExchangePrinter
from viva.reports.console.run import print_end, print_round, run_report
from viva.reports.console.whys import quoted
from viva.reports.exchanges import MOST_TOPICS, chosen_exchanges, exchange_plain, listed_topics
from viva.reports.facts import verdicts_by_subject
from viva.sinks import make_sinks
from viva.streams import reader_left
from viva.suites.gates import gate
from viva.suites.request import JournalsRequest, journals_request

if TYPE_CHECKING:
    from viva.statistics.summary import Figures

WORDS_PER_SECOND = 4.0
"""Silent reading speed is 240 words a minute (Brysbaert 2019, Journal of Memory and Language 109)."""
LONGEST_PAUSE = 12.0
MOST_PRINTED = 1_000
"""Maximum number of runs that are printed unless the user chooses some; a journal may hold hundreds of thousands."""
JUDGES: tuple[str, ...] = get_args(JudgeKind)
CHOOSING = frozenset({"failed", "threshold", "names", "agents", "trials", "outcomes"})
PRINTING = frozenset({"journal", "pace", "speed", "as_json", "judge"}) | CHOOSING
"""Options that have an effect without --against."""


@click.command("replay")
@click.argument("journal", required=False, shell_complete=completion.paths)
@run_choice_options
@click.option("--pace", is_flag=True, help="Print at reading pace.")
@click.option("--speed", type=NumberRange(0.1, 100), default=1.0, show_default=True, help="With --pace: speed factor.")
@call_option("--json", "as_json", is_flag=True, help="Print one JSON object for each run.")
@click.option("--against", metavar="SPEC", help="Ask another agent the stored questions, and judge it.")
@click.option(
    "--fork-at",
    type=click.IntRange(1),
    metavar="ROUND",
    help="With --against: keep the rounds up to this one, and have the agent continue the conversation from there.",
)
@click.option(
    "--fork-by",
    type=click.Choice(["state", "replay"]),
    help="With --fork-at: how the agent gets there. [default: by the stored state, or by replaying if there is none]",
)
@single_option("examiner")
@single_option("examiner_model")
@click.option(
    "--cases",
    multiple=True,
    type=click.Path(exists=True, resolve_path=True),
    metavar="FOLDER",
    help="With --against: folder of cases whose data files are not in the journal. Can be repeated.",
)
@resume_options("a replay --against")
@concurrency_option
@click.option(
    "--judge",
    metavar="POINT",
    help="Print what judges' models were asked and answered about a scoring point (its id or number), or by an "
    "evaluator. With --against: judge of the points that have eval_code (code, model or both).",
)
@shared_options(Part.AGENT, Part.SUITE, Part.JUDGE, without="judge")
@out_option
@sinks_option
@report_user_errors
def command(
    journal: str | None,
    pace: bool,
    speed: float,
    as_json: bool,
    against: str | None,
    fork_at: int | None,
    fork_by: Means | None,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    sinks: tuple[str, ...],
    **given: Any,
) -> None:
    """Print the conversations in JOURNAL: a folder, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    choice = run_choice(given)
    if retry_errors and resume is None:
        fail("viva replay: --retry-errors requires --resume.")
    if resume is not None:
        target, request = resumed_request(resume, JournalsRequest, "replay", given)
        _ask_again(target, request, sinks, as_json=as_json, resumed=True, retry_errors=retry_errors)
        return
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    if against is not None:
        if given["judge"] not in (None, *JUDGES):
            fail(f"viva replay: with --against, --judge must be one of {', '.join(JUDGES)}.")
        _refuse(
            PRINTING - {"journal", "as_json", "judge"},
            "chooses or paces what is printed, and cannot be given with --against",
        )
        _refuse_fork_mistakes(fork_at, given["examiner"])
        target = new_journal_folder(out, derived_name(folder, f"fork-{fork_at}" if fork_at else "against"))
        refuse_journal(target)
        request = journals_request("replay", [(folder, run)], options_from(given, against))
        request = replace(request, fork_at=fork_at or 0, fork_by=fork_by)
        _ask_again(target, request, sinks, as_json=as_json)
        return
    if not pace and "speed" in given_options():
        fail("viva replay: --speed requires --pace.")
    if not choice.failed and "threshold" in given_options():
        fail("viva replay: --threshold requires --failed.")
    _refuse(frozenset(given_options()) - PRINTING, "requires --against")
    if given["judge"] is not None:
        if pace:
            fail("viva replay: --pace paces a conversation, and cannot be given with --judge.")
        _print_asked(folder, run, choice, given["judge"], as_json=as_json)
        return
    _print_runs(folder, run, choice, speed if pace else None, as_json=as_json)


def _refuse_fork_mistakes(fork_at: int | None, examiner: str | None) -> None:
    if fork_at is None:
        _refuse(frozenset({"fork_by", "examiner", "examiner_model"}), "requires --fork-at")
    elif examiner not in (None, SCRIPT, MODEL, REPLAY):
        fail("viva replay: with --fork-at, --examiner must be one of script, model, replay.")


def _refuse(names: frozenset[str], why: str) -> None:
    others = [option for name, option in given_options().items() if name in names]
    if others:
        fail(f"viva replay: {', '.join(others)} {why}.")


def _print_runs(folder: Path, run: str | None, choice: RunChoice, speed: float | None, *, as_json: bool) -> None:
    console, damage = Console(), Damage()
    index = index_runs(folder) if run is None else None
    known = None if index is None else index.of(None)
    all_of_many = known is not None and not as_json and not choice.is_given and len(known.runs) > MOST_PRINTED
    for stored in choice.among(read_runs(folder, run, damage, known=known)):
        if all_of_many and choice.seen > MOST_PRINTED:
            assert known is not None
            click.echo(_choose_some(folder, len(known.runs)), err=True)
            break
        if as_json:
            gap = {"gap": stored.gap} if stored.gap else {}
            rounds = stored.transcript.rounds
            transcript = to_plain(replace(stored.transcript, rounds=rounds[:1]))
            if rounds:  # one at a time, in the place of the first: together they may be as large as memory
                transcript["rounds"] = map(to_plain, rounds)
            shown = {"run": stored.id, "attempt": stored.attempt, **gap, "transcript": transcript}
            for piece in json_pieces(shown):
                click.echo(piece, nl=False)
        else:
            print_run(console, stored, speed)
        if reader_left():
            return
    if not choice.seen and not damage.words():
        raise SetupError(f"{folder} holds no run yet.")
    if not as_json and (words := read_last_words(folder)) is not None:
        click.echo(f"note: {words}", err=True)
    if choice.seen and not choice.chosen:
        click.echo(choice.explain_none(), err=True)
    if skipped := damage.words():
        click.echo(f"note: {skipped} skipped (first: {damage.lines})", err=True)


def _print_asked(folder: Path, run: str | None, choice: RunChoice, what: str, *, as_json: bool) -> None:
    """Print what judges' models were asked and answered about something, of all wanted runs that have it."""
    console, damage, found, not_shown = Console(), Damage(), 0, 0
    printer = ExchangePrinter(console)
    known: dict[str, None] = {}
    for stored in choice.among(read_runs(folder, run, damage)):
        try:
            read = exchanges_of(stored)
        except NotReadable as error:
            click.echo(f"{one_line(stored.id)}: what its judge was asked cannot be read: {error}", err=True)
            continue
        exchanges = read.exchanges
        not_shown += read.not_shown
        if note := read.note():
            click.echo(f"note: {one_line(stored.id)}: of what its judge was asked, {note}", err=True)
        if len(known) <= MOST_TOPICS:
            known.update(dict.fromkeys(name for each in exchanges for name in (each.criterion, each.evaluator)))
        if not (chosen := chosen_exchanges(exchanges, stored, what)):
            continue
        found += 1
        if as_json:
            plain = {
                "run": stored.id,
                "attempt": stored.attempt,
                "exchanges": map(exchange_plain, chosen),
            }
            for piece in json_pieces(plain):
                click.echo(piece, nl=False)
        else:
            console.print(Text(f"{one_line(stored.setting.case or stored.id, 60)} ({one_line(stored.id)})", "bold"))
            printer.print(chosen, stored)
        if reader_left():
            return
    if choice.seen and not choice.chosen:
        click.echo(choice.explain_none(), err=True)
    elif not found:
        names = listed_topics(known)
        nothing = "No model judged, --no-exchange was given, or Viva was older."
        kept = f"There is: {names}." if names else "What there is, is too long to be shown." if not_shown else nothing
        kind = " As the kind of judge, --judge requires --against." if what in JUDGES else ""
        asked = f"{folder} holds nothing that a judge's model was asked about {one_line(what, 80)!r}"
        raise SetupError(f"{asked}. {kept}{kind}")


def _choose_some(folder: Path, runs: int) -> str:
    """Return the note that says how to choose among runs that are too many to print."""
    return printable(
        f"note: {folder} holds {counted(runs, 'run')}; only the first {MOST_PRINTED:,} are printed. To choose others: "
        f"{folder}#RUN-ID, --case, --agent, --trial, --outcome or --failed, which print all that match; "
        "--json prints all."
    )


def print_run(console: Console, stored: StoredRun, speed: float | None = None) -> None:
    """Print a whole conversation and how it ended; at reading pace if a speed is given."""
    setting = stored.setting
    trial = f" · trial {setting.trial}" if (setting.trial or 1) > 1 else ""
    title = f"{one_line(setting.case or stored.id, 60)} · {one_line(setting.agent, 80)}{trial}"
    console.print(Rule(Text(title), align="left"))
    about = verdicts_by_subject(stored.insights, stored.id)
    before = 0
    for round_ in stored.transcript.rounds:
        if round_.number > before + 1:
            console.print(Text(_missing(before + 1, round_.number - 1), style="yellow"))
        before = round_.number
        print_round(console, round_, about)
        if reader_left():
            return
        if speed:
            words = len(f"{round_.examiner or ''} {round_.agent or ''}".split())
            time.sleep(min(words / WORDS_PER_SECOND, LONGEST_PAUSE) / speed)
    print_end(console, stored.transcript)
    if stored.gap:
        console.print(Text(f"This conversation has a gap: {stored.gap}.", style="yellow"))
    if (record := stored.record) is not None:
        ended = "not scored" if is_unscored(record) else f"{record.outcome.value}, {score_line(record)}"
        console.print(Text(ended, style="bold"))


def _missing(first: int, last: int) -> str:
    which = f"round {first} is" if first == last else f"rounds {first} to {last} are"
    return f"[{which} missing: the journal has no valid line of it]"


def _ask_again(
    folder: Path,
    request: JournalsRequest,
    sinks: tuple[str, ...],
    *,
    as_json: bool,
    resumed: bool = False,
    retry_errors: bool = False,
) -> None:
    # Imported here, because printing a conversation must not wait for what judging and running require.
    from viva.reports.progress.reporter import ConsoleDisplay
    from viva.statistics.summary import summarize
    from viva.suites.conduct import Surroundings
    from viva.suites.replaying import ask_again

    absolute = folder.absolute()  # an agent may change the working directory
    around = Surroundings(ConsoleDisplay(Console(stderr=True), show=not as_json), make_sinks(sinks))
    try:
        with separate_stdout():
            end = run_async(ask_again(request, folder, around, resumed=resumed, retry_errors=retry_errors))
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: viva replay --resume {quoted(str(folder))}", STOPPED)
    records = list(read_records(absolute))
    figures = summarize(records)
    _report_answers(records, figures, folder, as_json=as_json)
    if not as_json:
        _suggest_comparison(request, records, folder)
    for run_name, gap in end.gaps.items():
        click.echo(f"{one_line(run_name)}: {gap}, so its questions are not asked", err=as_json)
    code = gate(figures)[0]
    raise SystemExit(EXIT_NOT_SCORED if end.gaps and code == EXIT_DONE else code)


def _report_answers(records: Sequence[RunRecord], figures: Figures, folder: Path, *, as_json: bool) -> None:
    from viva.reports.console.suite import figures_plain, suite_report
    from viva.reports.console.whys import print_whole
    from viva.reports.fork_words import forks_words

    forks = [record.setting.forked_from for record in records if record.setting.forked_from]
    if as_json:
        plain = {"journal": str(folder), "figures": figures_plain(figures)}
        click.echo(json.dumps({**plain, "forked": forks} if forks else plain))
    elif len(records) == 1:
        Console().print(run_report(records[0], folder))
    else:
        print_whole(Console(), suite_report(figures, folder, again="viva replay"))
        if forks:
            click.echo(forks_words(forks))


def _suggest_comparison(request: JournalsRequest, records: Sequence[RunRecord], folder: Path) -> None:
    """Print the command that compares the new runs with the old ones, if both have a single agent."""
    from viva.exam.stored_runs import read_run_states

    asked, only = request.journals[0]
    agents = {state.agent for state in read_run_states(asked, only).values()}
    if len(agents) == 1 and len({record.agent for record in records}) == 1:
        here = Path.cwd()
        shown = asked.relative_to(here) if asked.is_relative_to(here) else asked
        click.echo(printable(f"to compare: viva compare {shlex.quote(str(shown))} {shlex.quote(str(folder))}"))
