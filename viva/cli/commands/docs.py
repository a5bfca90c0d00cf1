"""The command `viva docs`: lists, prints and searches the pages of documentation that are installed with Viva."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from viva.cli.pages import Page, page, pages, search
from viva.cli.process import report_user_errors
from viva.errors import SetupError
from viva.records.text import one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(each.name) for each in pages() if each.name.startswith(incomplete)]


@click.command("docs")
@click.argument("name", required=False, shell_complete=_names)
@click.option("--search", "words", metavar="WORDS", help="List the sections that contain all of these words.")
@report_user_errors
def command(name: str | None, words: str | None) -> None:
    """Print a page of Viva's documentation; without NAME, list the pages."""
    chosen = pages() if name is None else [page(name)]
    if words is not None:
        _print_hits(words, chosen)
    elif name is None:
        width = max(len(each.name) for each in chosen)
        for each in chosen:
            click.echo(f"viva docs {each.name:<{width}}  {each.title}")
    else:
        click.echo_via_pager(chosen[0].text)  # prints it if the output is no terminal


def _print_hits(words: str, among: list[Page]) -> None:
    wanted = words.split()
    if not wanted:
        raise SetupError("--search requires at least one word.")
    hits = list(search(wanted, among))
    for hit in hits:
        click.echo(f"viva docs {hit.page}: {hit.heading}")
        if hit.line:
            click.echo(f"    {one_line(hit.line, 100)}")
    if not hits:
        raise SetupError(f"no section contains all of these words: {one_line(words, 100)}.")
