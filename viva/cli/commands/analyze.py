"""The command `viva analyze JOURNAL…`: has a model analyze runs; it observes only, and edits nothing."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click

from viva.analysis.agent import EvalAgent
from viva.analysis.cause_namer import name_causes
from viva.analysis.options import CONTEXT_TOKENS, EvalAgentOptions
from viva.analysis.output import ENDINGS, FORMATS, name_line, names_text
from viva.cli import completion
from viva.cli.options import single_option, split_names
from viva.cli.parameter_types import OUTPUT_FILE
from viva.cli.process import fail, report_user_errors, run_async
from viva.errors import ModelError
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.exam.run_history import RunHistory, history_of
from viva.records.codec import to_plain
from viva.records.text import printable
from viva.regular_files import read_text
from viva.reports.formats import choose_format
from viva.reports.output_file import is_standard_output, output_file
from viva.statistics.causes.cause import CauseName


@click.command("analyze")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.journals)
@click.option("--model", metavar="NAME", help="The analyst's model: openai:NAME, or a JSON/YAML file (AutoGen).")
@single_option("prices")
@single_option("max_output_tokens")
@single_option("model_seconds")
@click.option(
    "--instruction", metavar="TEXT", help="What to find out, or @FILE. [default: weaknesses and their causes]"
)
@click.option("--persona", metavar="TEXT", help="The analyst's system message, or @FILE.")
@click.option(
    "--context",
    "context_tokens",
    type=click.IntRange(2_000),
    default=CONTEXT_TOKENS,
    show_default=True,
    metavar="TOKENS",
    help="Maximum size of the request; it shows as many runs as fit.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(FORMATS)),
    help="Format of the analysis. [default: console, or by the file extension of --out]",
)
@click.option(
    "--out", type=OUTPUT_FILE, metavar="FILE", help="The output file; - is standard output. [default: standard output]"
)
@click.option(
    "--name-causes",
    "naming",
    is_flag=True,
    help="Instead of an analysis: name the causes of misses that have no name, once each. Reports show the names.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@report_user_errors
def command(
    journals: tuple[str, ...],
    model: str | None,
    prices: tuple[str, ...],
    max_output_tokens: tuple[str, ...],
    model_seconds: tuple[str, ...],
    instruction: str | None,
    persona: str | None,
    context_tokens: int,
    kind: str | None,
    out: Path | None,
    naming: bool,
    as_json: bool,
) -> None:
    """Have a model name the weaknesses that JOURNALs show, with run ids as evidence, and recommend improvements.

    A JOURNAL is a folder, FOLDER#RUN-ID, a file that the sink `jsonl` wrote, or a history of your own
    (package.module:Thing, file.py:Thing). [default: all under runs/] Claims that cite runs which do not exist are
    dropped and reported. The exit code is 3 if the model gave no usable answer.
    With --name-causes, names are stored in cause-names.jsonl beside the JOURNALs.
    """
    if naming and (instruction or persona or out or kind not in (None, "json", "console")):
        fail("viva analyze: --name-causes takes no --instruction, --persona, --out, or --format other than json.")
    if as_json and kind not in (None, "json"):
        fail(f"viva analyze: --json and --format {kind} contradict each other.")
    form = FORMATS[choose_format(out, "json" if as_json else kind, ENDINGS)]
    options = EvalAgentOptions(
        persona=_text(persona, "--persona"),
        instruction=_text(instruction, "--instruction"),
        model=model,
        prices=split_names(prices, "--price"),
        max_output_tokens=split_names(max_output_tokens, "--max-output-tokens"),
        model_seconds=split_names(model_seconds, "--model-seconds"),
        context_tokens=context_tokens,
    )
    if naming:
        raise SystemExit(_name_causes(options, history_of(journals), as_json=as_json or kind == "json"))
    agent, history = EvalAgent(options), history_of(journals)
    # Opened before the model is asked: a file that cannot be written must not cost an analysis.
    with contextlib.nullcontext() if is_standard_output(out) else output_file(out) as file:
        try:
            analysis = run_async(agent.analyze(history))
        except ModelError as error:
            fail(f"viva analyze: {error}", EXIT_NOT_SCORED)
        if skipped := history.damage.words():
            click.echo(f"note: {skipped} skipped", err=True)
        if file is None:
            click.echo(form(analysis), nl=False)
        else:
            file.write(form(analysis))
    if file is not None:
        click.echo(printable(f"written: {out}"), err=True)


def _name_causes(options: EvalAgentOptions, history: RunHistory, *, as_json: bool) -> int:
    """Name causes, and return the exit code; names appear as they are stored."""

    def on_named(name: CauseName) -> None:
        if not as_json:
            click.echo(name_line(name))

    found = run_async(name_causes(options, history, on_named))
    if skipped := history.damage.words():
        click.echo(f"note: {skipped} skipped", err=True)
    click.echo(json.dumps(to_plain(found, full=True)) if as_json else names_text(found), nl=as_json)
    return EXIT_NOT_SCORED if found.unnamed else EXIT_DONE


def _text(given: str | None, option: str) -> str | None:
    """Read the file of `@FILE`; anything else is the text itself."""
    if given is None or not given.startswith("@"):
        return given
    return read_text(Path(given[1:]), f"{option}: the file")
