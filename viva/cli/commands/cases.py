"""The command `viva cases`: lists the bundled cases, and checks or lints case folders."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from viva.cases import (
    BUNDLED,
    Case,
    CaseError,
    LintFinding,
    Mistake,
    Skipped,
    find_case,
    find_cases,
    lint_case,
    load_cases,
)
from viva.cases.load import source_of
from viva.cases.person_words import person_lines
from viva.cases.points.words import point_lines
from viva.cli import completion
from viva.cli.process import report_user_errors
from viva.exam.outcome import EXIT_MISTAKE
from viva.records.text import one_line, printable
from viva.records.wording import counted
from viva.reports.console.narrow_table import NarrowTable


class _CasesGroup(click.Group):
    """A group whose command `lint` is imported when it is called: it requires the whole machinery of exams."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [*super().list_commands(ctx), "lint"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name != "lint":
            return super().get_command(ctx, cmd_name)
        from viva.cli.commands.case_lint import command as lint

        return lint


@click.group("cases", cls=_CasesGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
@report_user_errors
def command(context: click.Context, as_json: bool) -> None:
    """List the bundled cases; `check` reads case folders of your own, `lint` also tries them with agents."""
    if context.invoked_subcommand is not None:
        return
    cases = [case for folder in find_cases(BUNDLED) for case in load_cases(folder)]
    if as_json:
        click.echo(json.dumps([_facts(case) for case in cases]))
        return
    table = Table(show_edge=False, header_style="bold")
    # Not wrapped, so that the name can be copied.
    table.add_column("case", no_wrap=True)
    for name in ("points", "rounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("model", "task"):
        table.add_column(name, overflow="fold")
    for case in cases:
        facts = _facts(case)
        model = "not required" if facts["script"] and facts["code"] else "required"
        points, rounds = str(len(case.scoring_points)), str(case.max_rounds or "")
        table.add_row(Text(case.name), points, rounds, model, Text(one_line(case.task_description, 90)))
    Console().print(NarrowTable(table))


@command.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.paths)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def check(paths: tuple[str, ...], as_json: bool) -> None:
    """Check every case folder at or below each PATH, and report all mistakes with their line numbers."""
    found = FoundCases()
    for path in paths:
        found.look_at(path)
    if as_json:
        click.echo(json.dumps(_as_json(found)))
    else:
        _show(found)
    if found.wrong or not found.valid:
        sys.exit(EXIT_MISTAKE)


MOST_ROWS = 50
"""Number of rows of a family in which findings are looked for; mistakes are reported of all."""
MOST_KINDS = 3
"""Number of groups of rows of which it is said what their exams require."""


@dataclass(slots=True)
class FoundCases:
    """What there is below the paths."""

    reads: Callable[[Path], bool] = field(default=lambda _: True)
    """Whether a case that was found may be read."""
    valid: list[Case] = field(default_factory=list)
    wrong: list[CaseError] = field(default_factory=list)
    warnings: list[CaseError] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def look_at(self, path: str) -> None:
        """Check every case at or below a path."""
        try:
            folders = find_cases(Path(path), self.skipped) if Path(path).exists() else iter([find_case(path)])
        except CaseError as error:
            self.wrong.append(error)
            return
        for folder in filter(self.reads, folders):
            try:
                cases = load_cases(folder)
                for _, members in groupby(cases, key=lambda case: case.entry):
                    self._look_at_family(list(members))
            except CaseError as error:
                self.wrong.append(error)

    def _look_at_family(self, members: list[Case]) -> None:
        """Look at a case, or at the rows of a family, whose first ones show what they have in common."""
        findings = [each for case in members[:MOST_ROWS] for each in (*lint_case(case), *_names(case))]
        certain, perhaps = (
            list(dict.fromkeys(Mistake(each.message, each.line) for each in findings if each.certain is kind))
            for kind in (True, False)
        )
        if certain:
            self.wrong.append(CaseError(members[0].file, certain))
        else:
            self.valid += members
        if perhaps:
            self.warnings.append(CaseError(members[0].file, perhaps))


def _names(case: Case) -> Iterator[LintFinding]:
    """Yield a finding for each persona and strategy that a case names and that does not exist."""
    if case.user is None and case.strategy is None:
        return
    from viva.examiner.role import unknown_names  # reads the library, which other cases do not require

    lines = source_of(case).lines
    for path, words in unknown_names(case):
        yield LintFinding(words, lines.of(*path))


def _show(found: FoundCases) -> None:
    for line in valid_lines(found):
        click.echo(line)
    for line in mistake_lines(found):
        click.echo(line, err=True)
    if not found.valid and not found.wrong:
        click.echo("no case folders found (a case is a folder with one YAML file)", err=True)


def valid_lines(found: FoundCases) -> Iterator[str]:
    """Yield what is said of each valid case, with its points in words. All of it is safe to show."""
    for (_, entry), members in groupby(found.valid, key=lambda case: (case.file, case.entry)):
        case, *others = members
        name = f"{case.file}#{entry}" if entry else str(case.file)
        yield printable(f"{name}: valid, {summary([case, *others])}")
        lines = [*person_lines(case), *point_lines(case)]
        if others and lines:
            yield printable(f"  The first of the rows, {case.row}:")
        for line in lines:
            yield printable(f"  {line}")


def summary(members: Sequence[Case]) -> str:
    """Return how many points a case, or the rows of a family, have, and what their exams require."""
    numbers = sorted({len(case.scoring_points) for case in members})
    points = counted(numbers[-1], "scoring point")
    if len(numbers) > 1:
        points = f"{numbers[0]} to {points}"
    rows = f"{counted(len(members), 'row')} of " if members[0].row else ""
    asked = Counter(map(requirements, members)).most_common()
    if len(asked) == 1:
        return f"{rows}{points}. {asked[0][0]}"
    shown = [f"{counted(number, 'row')}: {words}" for words, number in asked[:MOST_KINDS]]
    more = sum(number for _, number in asked[MOST_KINDS:])
    return " ".join([f"{rows}{points}.", *shown, *([f"And {counted(more, 'other row')}."] if more else [])])


def mistake_lines(found: FoundCases) -> Iterator[str]:
    """Yield the mistakes, the warnings and what was skipped, each with its place. All of it is safe to show."""
    for wrong in found.wrong:
        yield printable(str(wrong))
    for doubtful in found.warnings:
        for each in doubtful.mistakes:
            yield printable(f"{doubtful.where}:{each.line}: warning: {each.message}")
    for folder in dict.fromkeys(found.skipped):
        yield printable(str(folder))


def _as_json(found: FoundCases) -> dict[str, object]:
    return {
        "cases": [_facts(case) for case in found.valid],
        "mistakes": _rows(found.wrong),
        "warnings": _rows(found.warnings),
        "skipped": [{"folder": str(each.folder), "reason": each.reason} for each in dict.fromkeys(found.skipped)],
    }


def _rows(errors: list[CaseError]) -> list[dict[str, object]]:
    return [
        {"file": error.where, "line": mistake.line, "message": mistake.message}
        for error in errors
        for mistake in error.mistakes
    ]


def _facts(case: Case) -> dict[str, object]:
    return {
        "name": case.name,
        "file": str(case.file),
        **({"row": case.row, "columns": dict(case.columns)} if case.row else {}),
        **({"metadata": dict(case.metadata)} if case.metadata else {}),
        "points": len(case.scoring_points),
        "max_points": case.max_points,
        "script": bool(case.script),
        "code": all(point.is_checked for point in case.scoring_points),
        "tags": list(case.tags),
        "dependencies": list(case.dependencies),
        "hash": case.hash,
        "person": list(person_lines(case)),
        **({"tree": lines} if (lines := list(point_lines(case))) else {}),
    }


def requirements(case: Case) -> str:
    """Return what an exam of a case requires: models, permissions."""
    required = []
    if not case.script:
        required.append("a model to examine (it has no script)")
    without = sum(not point.is_checked for point in case.scoring_points)
    if without:
        required.append(f"a model to judge {counted(without, 'point')} without check or eval_code")
    if case.commands:
        required.append("--allow-pre-command")
    return f"Requires {', and '.join(required)}." if required else "Runs without a model."
