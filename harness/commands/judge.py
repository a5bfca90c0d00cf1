"""`viva judge JOURNAL…`: scores stored conversations again, by the same judge or another; no agent is needed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from adapters.errors import SetupError
from cases import Case, find_case, load_case
from harness.again import judge_again, paper_for
from harness.commands.options import (
    derived_name,
    fail,
    judge_options,
    new_journal_folder,
    newest_journal,
    options_from,
    output_options,
    run_async,
    told_plainly,
)
from harness.console import run_report, score_line
from harness.one_writer import only_writer
from harness.options import Options
from harness.outcome import exit_code
from harness.parts import JudgeParts, assemble_judge
from records.codec import to_plain
from records.journal import Damage, Journal
from records.run import RunRecord, Setting
from records.stored import StoredRun, read_runs, split_reference
from records.text import one_line


@click.command("judge")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...")
@click.option("--case", "mended", metavar="CASE", help="Judge by this case instead of the stored one of the same name.")
@judge_options
@output_options
@told_plainly
def command(
    journals: tuple[str, ...],
    mended: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    fail_under: float | None,
    **said: Any,
) -> None:
    """Score the conversations in each JOURNAL again (default: the newest under runs/) into a journal of its own."""
    places = [split_reference(journal) for journal in journals] or [(newest_journal(), None)]
    options = options_from(said)
    paper = load_case(find_case(mended)) if mended is not None else None
    folder = new_journal_folder(out, derived_name(places[0][0], "judged"))
    console = Console(stderr=True)
    try:
        results = run_async(_judge(places, options, paper, folder, console))
    except KeyboardInterrupt:
        fail(f"viva: stopped. What was judged so far is in {folder}", 130)
    records = [record for _, record in results if record is not None]
    if as_json:
        for stored, record in results:
            if record is None:
                click.echo(_not_ended(stored), err=True)
        click.echo(json.dumps({"journal": str(folder), "runs": [to_plain(record, full=True) for record in records]}))
    else:
        _report(results, folder, quiet=quiet)
    raise SystemExit(exit_code(records, fail_under))


async def _judge(
    places: list[tuple[Path, str | None]], options: Options, paper: Case | None, folder: Path, console: Console
) -> list[tuple[StoredRun, RunRecord | None]]:
    cases, found = {}, False
    for place, run in places:
        for stored in read_runs(place, run):
            found = True
            if stored.setting.case_hash not in cases and stored.ended:
                cases[stored.setting.case_hash] = paper_for(stored, paper)
    if not found:
        raise SetupError(f"there is nothing to judge: {', '.join(str(place) for place, _ in places)} holds no run.")
    parts = await assemble_judge(options, list(cases.values()))
    damage = Damage()
    results = []
    try:
        with only_writer(folder), Journal(folder) as journal:
            for notice in parts.notices:
                console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
            for place, run in places:
                async for stored, record in judge_again(
                    place, run, journal, [parts.evaluator], lambda setting: judged_by(setting, parts), damage, paper
                ):
                    # Only what the report needs is kept: memory must not grow with the length of conversations.
                    results.append(
                        (replace(stored, lines=b"", transcript=replace(stored.transcript, rounds=())), record)
                    )
    finally:
        await parts.close()
    if damage.torn:
        console.print(Text(f"note: {damage.torn} torn lines skipped", style="yellow"))
    return results


def judged_by(setting: Setting, parts: JudgeParts) -> Setting:
    """A run's setting with the judge that judged it now."""
    return replace(
        setting,
        judge=parts.kind,
        judge_model=parts.model.name if parts.model else None,
        sandbox=parts.sandbox.name if parts.sandbox else None,
        sandbox_isolates=parts.sandbox.isolates if parts.sandbox else None,
        prompts={**{key: value for key, value in setting.prompts.items() if key == "examiner"}, **parts.prompts},
    )


def _report(results: list[tuple[StoredRun, RunRecord | None]], folder: Path, *, quiet: bool) -> None:
    console = Console()
    for stored, record in results:
        if record is None:
            click.echo(_not_ended(stored))
            continue
        if len(results) == 1 and not quiet:
            console.print(run_report(record, folder))
        else:
            click.echo(f"{one_line(stored.id)} {record.outcome.value} {score_line(record)}")
        before = stored.record
        if before is not None and before.score != record.score:
            click.echo(f"{one_line(stored.id)}: the score was {score_line(before)}")


def _not_ended(stored: StoredRun) -> str:
    return f"{one_line(stored.id)}: the conversation did not end, so it is not judged"
