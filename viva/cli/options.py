"""Options that several subcommands share. The options of an exam are declared in `viva.exam.options`."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from viva.cli.parameter_types import SECONDS, NumberRange
from viva.cli.process import fail
from viva.cli.project.used_file import suite_in_use
from viva.errors import SetupError
from viva.exam.option_declaration import Option, Part, Value
from viva.exam.options import MODEL_FILES, Options, one_or_several
from viva.plugins.parameters import split_list
from viva.records.text import one_line, printable
from viva.suites.request import Command
from viva.suites.resuming.stored_request import R, holds_request, request_to_resume, with_changes

if TYPE_CHECKING:
    from viva.suites.engine import SuiteEnd

P = ParamSpec("P")
T = TypeVar("T")

TRUST = "trust_plan"


class CallOption(click.Option):
    """An option of one call. It is not part of the stored request, so it may be given when a command is resumed."""


call_option = functools.partial(click.option, cls=CallOption)

concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Maximum number of concurrent conversations.",
)
sinks_option = call_option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="NAME[:…]",
    help="Also send completed runs to jsonl:FILE, csv:FILE, otel, phoenix:URL, webhook:URL, package.module:Thing or "
    "file.py:Thing. Can be repeated.",
)


def stack(*options: Callable[[Callable[P, T]], Callable[P, T]]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Combine several options into one decorator; help lists them in this order."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def shared_options(*parts: Part, without: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator with the options of these parts of an exam; `options_from` reads them.

    Args:
        parts: The parts.
        without: The name of a field whose option the command declares itself.
    """
    return stack(*(_declared(field, option) for field, option in Options.declared(*parts) if field.name != without))


def single_option(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator with the option of one field of `Options`, for a command that needs no other."""
    (found,) = (pair for pair in Options.declared(*Part) if pair[0].name == name)
    return _declared(*found)


def _declared(field: Field[Any], option: Option) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return the click option for a field of `Options`."""
    kinds: dict[Value, Any] = {
        Value.TEXT: click.STRING,
        Value.TEXTS: click.STRING,
        Value.MODELS: click.STRING,
        Value.COUNT: click.IntRange(option.least),
        Value.SECONDS: SECONDS,
    }
    if option.value is Value.FLAG:
        return click.option(option.flag, field.name, is_flag=True, help=option.help)
    several = option.value in (Value.TEXTS, Value.MODELS)
    default = None if several else field.default
    words = f" [default: {option.default_words}]" if option.default_words else ""
    return click.option(
        option.flag,
        field.name,
        type=click.Choice(option.choices) if option.choices else kinds[option.value],
        multiple=several,
        default=default,
        show_default=default is not None and not words,
        metavar=option.metavar,
        help=option.help + words,
    )


def options_from(given: Mapping[str, Any], agent: str | None = None) -> Options:
    """Return the options of an exam from a command's parameters; options that it does not offer keep their defaults."""
    names = Options.names()
    known = {name: value for name, value in given.items() if name in names}
    for field, option in Options.declared(*Part):
        if option.value is Value.TEXTS and field.name in known:
            known[field.name] = split_names(known[field.name], option.flag)
        elif option.value is Value.MODELS and field.name in known:
            known[field.name] = one_or_several(known[field.name])
    return Options(**{**known, "agent": agent})


def split_names(values: tuple[str, ...], flag: str = "--evaluators") -> tuple[str, ...]:
    """Split names that are given in one option, separated by commas, or in several options.

    A name may have parameters, which may contain commas: `file.py:Brevity(words=3, tone='dry')`.
    """
    names = tuple(name for value in values for name in split_list(value))
    if values and not names:
        fail(f"viva: {flag} requires at least one name.")
    return names


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The journal's folder. [default: a new one under runs/]",
)
threshold_option = call_option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)


max_examiner_faults_option = call_option(
    "--max-examiner-faults",
    type=NumberRange(0, 1),
    metavar="RATE",
    help="Exit with 1 if the examiner was at fault in a larger share of the exams.",
)


def output_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add the options for what is written and printed."""
    return stack(
        out_option,
        sinks_option,
        call_option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report."),
        call_option("--quiet", is_flag=True, help="Print only the score; stderr says why a run or gate failed."),
        call_option(
            "--fail-under",
            multiple=True,
            metavar="[EVALUATOR=]SCORE",
            help="Exit with 1 if the low bound of an agent's mean score, by the primary evaluator or the one named, is "
            "below this. Can be repeated.",
        ),
    )(function)


def refuse_gate_without_agent(command: Command, agents: Collection[str], gated: Mapping[str, object]) -> None:
    """Check that a gate has an agent: a build whose --agent was forgotten would pass by the bundled one's scores.

    Args:
        command: The command.
        agents: The SPECs that were given.
        gated: The values of the options that are gates, by flag.
    """
    flags = [flag for flag, value in gated.items() if value]
    if flags and not agents:
        fail(
            f"viva {command}: {' and '.join(flags)} without --agent would test the bundled example agent; "
            "name yours with --agent SPEC, or the example with --agent example:careful."
        )


def resume_options(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator with the options to resume something that was stopped, and to repeat runs that failed."""
    options = stack(
        call_option(
            "--resume", type=click.Path(path_type=Path), metavar="JOURNAL", help=f"Resume {what} that was stopped."
        ),
        call_option(
            "--retry-errors",
            is_flag=True,
            help="With --resume: repeat runs that ended in an examiner, judge or infrastructure error.",
        ),
        call_option(
            "--trust-plan",
            TRUST,
            is_flag=True,
            expose_value=False,
            callback=_note_trust,
            help="With --resume: also resume a plan that does not have your signature.",
        ),
    )

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if trusts_plan() and kwargs.get("resume") is None:
                fail(f"viva {click.get_current_context().info_name}: --trust-plan requires --resume.")
            return function(*args, **kwargs)

        return options(checked)

    return decorate


def _note_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[TRUST] = value


def trusts_plan() -> bool:
    """Return whether the user permits resuming a plan without the user's signature."""
    return bool(click.get_current_context().meta.get(TRUST))


def given_options() -> dict[str, str]:
    """Return the parameters that were given on the command line, with their spelling there, by name."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return {
        each.name: each.opts[0] if isinstance(each, click.Option) else each.human_readable_name
        for each in context.command.params
        if each.name and context.get_parameter_source(each.name) is source
    }


def resumed_request(resume: Path, kind: type[R], command: Command, values: Mapping[str, Any]) -> tuple[Path, R]:
    """Return the absolute folder and the request of a command to resume, in the working directory in which it started.

    Options that may change have the values of this call, if they were given; a model may replace another one.

    Raises:
        SetupError: nothing was started there, or it cannot be resumed.
    """
    given = _refuse_beside_resume(command)
    asked = options_from(values)
    changed = {name: getattr(asked, name) for name in given & (Options.may_change() | Options.may_replace())}
    for name in changed.keys() & Options.may_replace():
        # Before the working directory changes.
        names = (changed[name],) if isinstance(changed[name], str) else changed[name] or ()
        changed[name] = one_or_several(os.path.abspath(each) if each.endswith(MODEL_FILES) else each for each in names)
    request = request_to_resume(resume, kind, command, trusted=trusts_plan())
    folder = resume.absolute()
    if request.folder and os.path.isdir(request.folder):
        os.chdir(request.folder)
    try:
        return folder, with_changes(request, changed)
    except SetupError as error:
        fail(f"viva {command}: {error}")


def resume_command(command: Command, folder: Path) -> str:
    """Return the command that resumes this one.

    If this call resumes work with other models, they are repeated: a stored request keeps those it was started with.
    """
    context = click.get_current_context()
    flags = given_options() if context.params.get("resume") is not None else {}
    names = sorted(flags.keys() & Options.may_replace())
    models = "".join(f" {flags[name]} {shlex.quote(each)}" for name in names for each in _each(context.params[name]))
    suite = f" {suite_in_use()}" if suite_in_use() else ""
    return f"viva {command}{suite} --resume {printable(shlex.quote(str(folder)))}{models}"


def _each(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


def how_to_resume(command: Command, folder: Path) -> str:
    """Return a line that says how to resume this command; empty if it left nothing that can be resumed."""
    return f"\nTo resume: {resume_command(command, folder)}" if holds_request(folder) else ""


def tell_left_out(end: SuiteEnd, again: str) -> None:
    """Print how many runs were left out, why, and the command that resumes them; nothing if none were."""
    from rich.console import Console
    from rich.text import Text

    if end.words:
        words = one_line(f"{end.words}. To resume: {again}", 500)
        Console(stderr=True).print(Text(words, style="yellow"), soft_wrap=True)


def _refuse_beside_resume(command: Command) -> set[str]:
    """Check that no option beside --resume would be ignored: a resumed command keeps the options of its request.

    Returns:
        The names of the parameters that were given.
    """
    params = {each.name: each for each in click.get_current_context().command.params}
    given = given_options()
    fixed = [
        flag
        for name, flag in given.items()
        if not isinstance(params[name], CallOption) and name not in Options.may_change() | Options.may_replace()
    ]
    if fixed:
        fail(f"viva {command}: {', '.join(fixed)} cannot be changed when it is resumed; omit it, or start a new one.")
    return set(given)
