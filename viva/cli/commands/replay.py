"""The command `viva replay JOURNAL`: prints stored conversations, or asks another agent the same questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from viva.cli import completion
from viva.cli.daily.filter_options import chosen_runs, filter_options, filters_from
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
from viva.cli.process import fail, report_user_errors
from viva.cli.replaying.again import ask_again_and_report
from viva.cli.replaying.asked import JUDGES, print_asked
from viva.cli.replaying.printed import print_runs
from viva.cli.run_choice import run_choice, run_choice_options
from viva.exam.examiners import MODEL, REPLAY, SCRIPT
from viva.exam.forking.edited import read_edited
from viva.exam.forking.fork import Edits, Means
from viva.exam.option_declaration import Part
from viva.journal.paths import derived_name, new_journal_folder, newest_journal, refuse_journal
from viva.journal.reader import split_reference
from viva.records.text import printable
from viva.suites.request import JournalsRequest, journals_request

FILTERS = frozenset({"where", "failed_in", "changed_since"})
CHOOSING = frozenset({"failed", "threshold", "names", "agents", "trials", "outcomes"})
PRINTING = frozenset({"journal", "pace", "speed", "as_json", "judge"}) | CHOOSING | FILTERS
"""Options that have an effect without --against."""


@click.command("replay")
@click.argument("journal", required=False, shell_complete=completion.journals)
@run_choice_options
@filter_options("Only runs")
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
    type=click.Choice(["state", "conversation", "replay"]),
    help="With --fork-at: how the agent gets there: by the stored state, by being given the conversation so far, or by "
    "replaying. [default: by the stored state, or by replaying if there is none]",
)
@click.option(
    "--reply",
    "reply_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --fork-at: text that replaces the agent's reply in that round. The agent is given the conversation.",
)
@click.option(
    "--message",
    "message_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --fork-at: text that replaces the examiner's message in the round after it.",
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
    reply_file: Path | None,
    message_file: Path | None,
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
        ask_again_and_report(target, request, sinks, as_json=as_json, resumed=True, retry_errors=retry_errors)
        return
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    if against is not None:
        if given["judge"] not in (None, *JUDGES):
            fail(f"viva replay: with --against, --judge must be one of {', '.join(JUDGES)}.")
        _refuse(
            PRINTING - FILTERS - {"journal", "as_json", "judge"},
            "chooses or paces what is printed, and cannot be given with --against",
        )
        _refuse_fork_mistakes(fork_at, given["examiner"])
        target = new_journal_folder(out, derived_name(folder, f"fork-{fork_at}" if fork_at else "against"))
        refuse_journal(target)
        request = journals_request("replay", [(folder, run)], options_from(given, against))
        filters = filters_from(given)
        request = replace(
            request,
            fork_at=fork_at or 0,
            fork_by=fork_by,
            edits=Edits(_edited("--reply", reply_file), _edited("--message", message_file)),
            only=chosen_runs(filters, [(folder, run)]),
            only_by=filters.words,
        )
        # Imported here, because printing a conversation must not wait for it.
        from viva.suites.chosen.journal_parts import noting_parts

        request = noting_parts(request)
        if request.part_words:
            click.echo(printable(f"note: {request.part_words}"), err=True)
        ask_again_and_report(target, request, sinks, as_json=as_json)
        return
    if not pace and "speed" in given_options():
        fail("viva replay: --speed requires --pace.")
    if not choice.failed and not given_options().keys() & FILTERS and "threshold" in given_options():
        fail("viva replay: --threshold requires --failed or --where.")
    _refuse(frozenset(given_options()) - PRINTING, "requires --against")
    only = chosen_runs(filters_from(given, choice.threshold), [(folder, run)], choice.threshold)
    choice.only = None if only is None else frozenset(only)
    if given["judge"] is not None:
        if pace:
            fail("viva replay: --pace paces a conversation, and cannot be given with --judge.")
        print_asked(folder, run, choice, given["judge"], as_json=as_json)
        return
    print_runs(folder, run, choice, speed if pace else None, as_json=as_json)


def _refuse_fork_mistakes(fork_at: int | None, examiner: str | None) -> None:
    if fork_at is None:
        _refuse(
            frozenset({"fork_by", "reply_file", "message_file", "examiner", "examiner_model"}), "requires --fork-at"
        )
    elif examiner not in (None, SCRIPT, MODEL, REPLAY):
        fail("viva replay: with --fork-at, --examiner must be one of script, model, replay.")


def _edited(option: str, file: Path | None) -> str | None:
    return None if file is None else read_edited(option, file)


def _refuse(names: frozenset[str], why: str) -> None:
    others = [option for name, option in given_options().items() if name in names]
    if others:
        fail(f"viva replay: {', '.join(others)} {why}.")
