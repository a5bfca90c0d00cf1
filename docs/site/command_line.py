"""Pages about the command line, from click's commands: one for each command, with a section for each option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from docs.site.markdown import code, plain
from viva.cli.group import viva

FOLDER = "reference/commands"


def subcommands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield the commands of a group, each with the context that its help needs."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command, click.Context(command, info_name=name, parent=context, max_content_width=100)


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each page: the list of commands, and one page for each."""
    root = click.Context(viva, info_name="viva")
    rows = []
    for command, context in subcommands(viva, root):
        name = context.info_name or ""
        rows.append(f"| [`viva {name}`]({name}.md) | {plain(command.get_short_help_str(200))} |")
        yield f"{FOLDER}/{name}.md", "\n\n".join(_sections(command, context, 1)) + "\n"
    first = (
        "# Commands and options",
        "Every command of `viva`, with all of its options. `viva COMMAND --help` prints the same in a terminal.",
        "Exit codes are described in [Formats](../../formats.md#exit-codes).",
        "\n".join(("| command | what it does |", "|---|---|", *rows)),
        *_options(viva, root, 2),
    )
    yield f"{FOLDER}/index.md", "\n\n".join(first) + "\n"


def options(command: click.Command) -> Iterator[click.Option]:
    """Yield the options that the help shows."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield parameter


def flags(option: click.Option) -> list[str]:
    """Return the option's names, long ones first."""
    return sorted([*option.opts, *option.secondary_opts], key=lambda flag: not flag.startswith("--"))


def _sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    path = context.command_path
    yield f"{'#' * level} {path}"
    yield _help(command)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```"
    yield from _options(command, context, level + 1)
    if isinstance(command, click.Group):
        for each, inner in subcommands(command, context):
            yield from _sections(each, inner, level + 1)


def _options(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    for option in options(command):
        record = option.get_help_record(context)
        shown, text = record or (" / ".join(flags(option)), "")
        identity = re.sub(r"\W+", "-", f"{context.command_path} {flags(option)[0]}").strip("-")
        yield f"{'#' * level} {', '.join(flags(option))} {{ #{identity} }}"
        # The name without hyphens is a word of its own in the search.
        words = flags(option)[0].lstrip("-").replace("-", " ")
        value = "" if shown in flags(option) else f"{code(shown)}  \n"
        yield f"{value}{plain(_joined(text))}\n\n<small>Option *{words}* of `{context.command_path}`.</small>"


def _help(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "").partition("\f")[0]
    parts = []
    for part in re.split(r"\n\s*\n", text):
        literal = part.startswith("\b\n")
        parts.append(f"```text\n{part[2:]}\n```" if literal else plain(_joined(part)))
    return "\n\n".join(parts)


def _joined(text: str) -> str:
    return " ".join(text.split())
