"""Options are declared once: what the command line, the plugin and the packages below take for granted is the same."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from viva.cli.commands.run import command as run
from viva.cli.commands.suite import command as suite
from viva.cli.options import options_from
from viva.exam.option_declaration import Part
from viva.exam.options import Options
from viva.examiner.conversation import REPLY_SECONDS
from viva.pytest_plugin.options import OPTIONS, declared, name_of


def test_the_limit_of_a_reply_is_the_same_without_the_command_line() -> None:
    assert Options().reply_seconds == REPLY_SECONDS


@pytest.mark.parametrize("command", [run, suite])
def test_a_command_without_options_asks_for_what_the_fields_say(command: click.Command) -> None:
    context = command.make_context("viva", ["some-case"])
    own = {"concurrency", "sandboxes", "agent"}
    for name in Options.names() - own:
        assert getattr(options_from(context.params), name) == getattr(Options(), name), name


def test_the_plugin_has_every_option_of_the_run_command_with_the_same_default() -> None:
    flags = {option for parameter in run.params if isinstance(parameter, click.Option) for option in parameter.opts}
    for field, option in Options.declared(*OPTIONS):
        assert option.flag in flags
        assert name_of(option) == f"--viva-{option.flag[2:]}"
        default = declared(field, option).get("default", False)
        assert tuple(default) == () if field.default == () else default == field.default
    assert set(OPTIONS) == set(Part)


def test_the_names_of_evaluators_are_split_at_commas_and_joined_over_several_options() -> None:
    context = run.make_context("viva", ["c", "--evaluators", "a, b", "--evaluators", "file.py:C"])
    assert options_from(context.params).evaluators == ("a", "b", "file.py:C")


def test_declaring_the_options_loads_nothing_else() -> None:
    code = "import viva.exam.options, sys; print({'click', 'pydantic', 'yaml', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
