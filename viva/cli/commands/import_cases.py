"""The command `viva import`: makes cases of other tools' files, and reports what became of every value."""

from __future__ import annotations

import json
from pathlib import Path

import click

from viva.cli import completion
from viva.cli.imports.report import show_report
from viva.cli.process import fail, report_user_errors
from viva.errors import SetupError
from viva.interchange.formats import FORMATS
from viva.interchange.importing import import_cases


@click.command("import")
@click.argument("source", required=False, metavar="SOURCE", shell_complete=completion.paths)
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="A new or empty folder for the cases.")
@click.option("--format", "source_format", metavar="NAME", help="Format of SOURCE, if it is not recognised.")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="PART=PATH",
    help="Of rows: where a part of a case is (input=inputs.question expected=outputs.answer). Can be repeated.",
)
@click.option("--list", "listed", is_flag=True, help="List the formats.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@report_user_errors
def command(
    source: str | None,
    out: Path | None,
    source_format: str | None,
    mapping: tuple[str, ...],
    listed: bool,
    as_json: bool,
) -> None:
    """Make cases of another tool's file: its cases, dataset or results. Nothing in SOURCE is run.

    Every value of SOURCE is in a case or in the report, which is also written to FOLDER/import-report.json.
    """
    if listed:
        _list(as_json)
        return
    if source is None or out is None:
        fail("viva import: name a SOURCE and a folder for its cases: viva import SOURCE --out FOLDER")
    report = import_cases(source, out, format=source_format, mapping=pairs(mapping))
    if as_json:
        click.echo(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        show_report(report)


def pairs(given: tuple[str, ...]) -> dict[str, str]:
    """Return the mappings of `--map`.

    Raises:
        SetupError: one is none, or a part is named twice.
    """
    found: dict[str, str] = {}
    for words in (word for each in given for word in each.split()):
        part, is_pair, path = words.partition("=")
        if not is_pair or not path:
            raise SetupError(f"--map must look like input=PATH, not {words!r}.")
        if part in found:
            raise SetupError(f"--map names {part!r} twice.")
        found[part] = path
    return found


def _list(as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"name": each.name, "words": each.words} for each in FORMATS]))
        return
    width = max(len(each.name) for each in FORMATS)
    for each in FORMATS:
        click.echo(f"{each.name:<{width}}  {each.words}")
