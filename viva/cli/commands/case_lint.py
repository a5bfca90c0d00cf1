"""The command `viva cases lint`: tries cases with agents that deserve nothing and one that deserves all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from viva.cases import Case, CaseError, Mistake, Skipped, find_case, find_cases, load_cases
from viva.cli import completion
from viva.cli.options import concurrency_option, options_from, single_option
from viva.cli.process import report_user_errors, run_async, separate_stdout
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_MISTAKE, EXIT_NOT_SCORED
from viva.lint.finding import CaseFinding, LintedCase
from viva.lint.lint import Lint, LintSettings, lint_cases
from viva.records.redact import redacted
from viva.records.text import one_line, printable
from viva.records.wording import counted


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.paths)
@click.option(
    "--solution",
    metavar="SPEC",
    help="Agent that earns every point of the cases with a script. [default: the solution in each case]",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Model that judges points without check or eval_code, and reviews all: openai:NAME, or a model file.",
)
@single_option("prices")
@single_option("max_output_tokens")
@single_option("model_seconds")
@single_option("model_calls")
@single_option("cache")
@single_option("sandbox")
@single_option("allow_source_dependencies")
@single_option("allow_pre_command")
@concurrency_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Keep the journals of the exams here.")
@click.option("--strict", is_flag=True, help="Exit with 1 if there are findings; notes do not count.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def command(
    paths: tuple[str, ...], solution: str | None, out: Path | None, strict: bool, as_json: bool, **given: Any
) -> None:
    """Try every case at or below each PATH with agents that deserve no point, and report what they get.

    The agents say nothing, refuse, or repeat what they are given. If a case has a solution, an agent that replies as it
    says takes the exam, too. Without a model, only code judges. With --model, it also judges the
    points without check or eval_code, and reviews the points of each case against its task.

    Exit codes: 0 done, 1 findings (with --strict), 2 usage error or invalid case, 3 something could not be tried.
    """
    cases, wrong, skipped = _load(paths)
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise click.UsageError(f"--out: {printable(str(out))} exists already; name a new folder.")
    settings = LintSettings(
        options=options_from(given), solution=solution, folder=None if out is None else out.absolute()
    )
    with separate_stdout():  # of the solution, which may print
        lint = run_async(lint_cases(cases, settings)) if cases else Lint([])
    if as_json:
        click.echo(json.dumps(_as_json(lint, wrong, skipped)))
    else:
        _show(lint, wrong, skipped)
    raise SystemExit(_exit_code(lint, wrong, strict=strict))


def _load(paths: tuple[str, ...]) -> tuple[list[Case], list[CaseError], list[Skipped]]:
    """Load the cases below the paths, each once."""
    cases: dict[tuple[Path, str], Case] = {}
    wrong: list[CaseError] = []
    skipped: list[Skipped] = []
    for path in paths:
        try:
            folders = list(find_cases(Path(path), skipped)) if Path(path).exists() else [find_case(path)]
        except CaseError as error:
            wrong.append(error)
            continue
        for folder in folders:
            try:
                found = load_cases(folder)
            except CaseError as error:
                wrong.append(error)
                continue
            for case in found:
                cases.setdefault((case.file.resolve(), case.name), case)
    if not cases and not wrong:
        wrong.append(CaseError(", ".join(paths), [Mistake("holds no case (a case is a folder with one YAML file)")]))
    return list(cases.values()), wrong, list(dict.fromkeys(skipped))


def _exit_code(lint: Lint, wrong: list[CaseError], *, strict: bool) -> int:
    if wrong:
        return EXIT_MISTAKE
    if strict and any(each.problems for each in lint.cases):
        return EXIT_BELOW
    return EXIT_NOT_SCORED if any(each.failed for each in lint.cases) else EXIT_DONE


def _show(lint: Lint, wrong: list[CaseError], skipped: list[Skipped]) -> None:
    for error in wrong:
        click.echo(redacted(str(error)), err=True)
    for line in (*map(str, skipped), *lint.notes):
        click.echo(printable(line), err=True)
    for each in lint.cases:
        click.echo(printable(f"{each.case.file}: {_summary(each)}"))
        for found in each.findings:
            click.echo(printable(f"  {_where(found, each)}: {_what(found)}"))
            click.echo(printable(f"      {found.advice}"))
        for words in (*(f"not tried: {it}" for it in each.not_tried), *(f"failed: {it}" for it in each.failed)):
            click.echo(printable(f"  {words}"))
    if len(lint.cases) > 1:
        problems = sum(len(each.problems) for each in lint.cases)
        sound = [each for each in lint.cases if not each.findings and not each.failed]
        words = f"{len(sound)} without findings and notes"
        if untried := sum(bool(each.not_tried) for each in sound):
            words += f', {untried} of which could not be tried in full (see "not tried")'
        click.echo(f"{counted(len(lint.cases), 'case')}: {counted(problems, 'finding')}; {words}")


def _summary(each: LintedCase) -> str:
    notes = len(each.findings) - len(each.problems)
    words = [counted(len(each.problems), "finding") if each.problems else "no finding"]
    if notes:
        words.append(counted(notes, "note"))
    words.append(f"tried: {', '.join(each.tried)}" if each.tried else "nothing could be tried")
    return "; ".join(words)


def _where(found: CaseFinding, each: LintedCase) -> str:
    return f"{each.case.file}:{found.line}" if found.line else str(each.case.file)


def _what(found: CaseFinding) -> str:
    kind = f"note, {found.kind.value}" if found.is_note else found.kind.value
    point = f"point {found.point}, " if found.point else ""
    model = "" if found.by == "code" else f" (says {found.by})"
    return f"{point}{kind}: {one_line(found.message, 600)}{model}"


def _as_json(lint: Lint, wrong: list[CaseError], skipped: list[Skipped]) -> dict[str, object]:
    return {
        "cases": [_facts(each) for each in lint.cases],
        "findings": sum(len(each.problems) for each in lint.cases),
        "mistakes": list(_rows(wrong)),
        "skipped": [{"folder": str(each.folder), "reason": each.reason} for each in skipped],
        "notes": list(lint.notes),
    }


def _facts(each: LintedCase) -> dict[str, object]:
    return {
        "name": each.case.name,
        "file": str(each.case.file),
        "hash": each.case.hash,
        "tried": list(each.tried),
        "not_tried": each.not_tried,
        "failed": each.failed,
        "findings": [
            {
                "kind": found.kind.value,
                "note": found.is_note,
                "line": found.line,
                "point": found.point,
                "message": found.message,
                "advice": found.advice,
                "by": found.by,
            }
            for found in each.findings
        ],
        "cost": each.usage.cost,
    }


def _rows(errors: list[CaseError]) -> Iterator[dict[str, object]]:
    for error in errors:
        for mistake in error.mistakes:
            yield {"file": error.where, "line": mistake.line, "message": mistake.message}
