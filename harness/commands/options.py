"""Options that several subcommands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from examiner.conversation import REPLY_SECONDS
from harness.commands.process import fail
from harness.exam.options import Options
from harness.suites.sources import Command, Sources, load_sources

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = click.FloatRange(0, min_open=True)

concurrency_option = click.option(
    "--concurrency", type=click.IntRange(1), default=4, show_default=True, help="Conversations at once."
)
reply_timeout_option = click.option(
    "--reply-timeout",
    type=SECONDS,
    default=REPLY_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for one reply.",
)
isolate_option = click.option(
    "--isolate", is_flag=True, help="Run an agent from a module or file in a process of its own."
)
allow_pre_command_option = click.option(
    "--allow-pre-command", is_flag=True, help="Let a case run its pre_command on this machine."
)
agent_memory_option = click.option(
    "--agent-memory",
    type=click.IntRange(32),
    metavar="MIB",
    help="Memory of an agent in a process of its own, at most.",
)


def _stack(*options: Callable[[Callable[P, T]], Callable[P, T]]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Several options as one decorator, listed in the order in which they are given."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def exam_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about the conversation and the agent's process; `options_from` reads them."""
    return _stack(
        click.option(
            "--examiner",
            metavar="KIND",
            help="script, model, or replay:JOURNAL. [default: model if one is given, else script]",
        ),
        click.option("--examiner-model", metavar="NAME", help="Model for the examiner alone."),
        click.option(
            "--max-rounds", type=click.IntRange(1), help="Examiner messages at most. [default: the case's, else 15]"
        ),
        reply_timeout_option,
        click.option(
            "--timeout", type=SECONDS, metavar="SECONDS", help="Longest conversation. [default: the case's, else none]"
        ),
        click.option("--app-dir", metavar="FOLDER", help="Replaces the case's app_dir."),
        allow_pre_command_option,
        isolate_option,
        agent_memory_option,
    )(function)


def judge_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about judge, models and sandbox; `options_from` reads them."""
    return _stack(
        click.option(
            "--judge",
            type=click.Choice(["code", "model", "both"]),
            help="Who judges points with eval_code. [default: code; points without it always go to the model]",
        ),
        click.option(
            "--model",
            metavar="NAME",
            help="Model for examiner and judge: openai:NAME, or a JSON/YAML file with an AutoGen component.",
        ),
        click.option("--judge-model", metavar="NAME", help="Model for the judge alone."),
        click.option(
            "--sandbox",
            type=click.Choice(["auto", "docker", "bwrap", "process"]),
            default="auto",
            show_default=True,
            help="Where eval_code runs.",
        ),
    )(function)


def options_from(said: Mapping[str, Any], agent: str | None = None) -> Options:
    """The options of an exam from what a command was told; what the command does not offer keeps its default."""
    renamed = {"reply_timeout": "reply_seconds", "timeout": "run_seconds", "agent_memory": "agent_memory_mb"}
    known = {name: value for key, value in said.items() if (name := renamed.get(key, key)) in Options.names()}
    return Options(**{**known, "agent": agent})


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The journal's folder. [default: a new one under runs/]",
)


def output_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about what is written and printed."""
    return _stack(
        out_option,
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report."),
        click.option("--quiet", is_flag=True, help="Print the score and nothing else."),
        click.option(
            "--fail-under",
            type=click.FloatRange(0, 1),
            metavar="SCORE",
            help="Exit with 1 if an agent's score (its low bound) is below this.",
        ),
    )(function)


def resume_options(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Options to go on with something that was stopped, and to try again what failed in it."""
    return _stack(
        click.option(
            "--resume", type=click.Path(path_type=Path), metavar="JOURNAL", help=f"Go on with {what} that was stopped."
        ),
        click.option(
            "--retry-errors",
            is_flag=True,
            help="With --resume: repeat runs that ended as an error of examiner, judge or infrastructure.",
        ),
    )


def refuse_beside_resume(may_be_said: frozenset[str], what: str) -> set[str]:
    """See that nothing was said beside --resume that would be ignored: what was begun goes on as it was begun.

    Args:
        may_be_said: Names of parameters that do not change what was begun.
        what: Was begun.

    Returns:
        The names of the parameters that were given.
    """
    given = given_options()
    fixed = [option for name, option in given.items() if name not in may_be_said]
    if fixed:
        command, names = click.get_current_context().info_name, ", ".join(fixed)
        fail(f"viva {command}: {names} cannot change in {what} that was begun; begin a new one, or leave it out.")
    return set(given)


def given_options() -> dict[str, str]:
    """What was said on the command line: a parameter's name to how it is written."""
    context = click.get_current_context()
    said = [parameter for parameter in context.command.params if parameter.name]
    source = click.core.ParameterSource.COMMANDLINE
    return {
        each.name: each.opts[0] if isinstance(each, click.Option) else each.human_readable_name
        for each in said
        if each.name and context.get_parameter_source(each.name) is source
    }


def resumed_sources(
    resume: Path, command: Command, may_be_said: frozenset[str], said: Mapping[str, Any]
) -> tuple[Path, Sources]:
    """What was begun in a folder, and the folder as it is called from the working directory in which it began.

    Raises:
        SetupError: nothing was begun there, or it cannot go on.
    """
    given = refuse_beside_resume(may_be_said, "something")
    sources = load_sources(resume, command)
    folder = resume.absolute()
    if sources.folder and os.path.isdir(sources.folder):
        os.chdir(sources.folder)
    if "concurrency" in given:
        sources = replace(sources, options=replace(sources.options, concurrency=said["concurrency"]))
    return folder, sources
