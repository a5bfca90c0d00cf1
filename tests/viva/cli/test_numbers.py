"""Options that take a number in a range: what is no number is a usage error, before anything begins."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from viva.cli.group import viva
from viva.cli.parameter_types import NumberRange


def ranges() -> list[tuple[str, str]]:
    """Return each command with each of its options that take a number in a range."""
    context = click.Context(viva)
    commands = {name: viva.get_command(context, name) for name in viva.list_commands(context)}
    return [
        (name, option.opts[0])
        for name, command in commands.items()
        for option in (command.params if command is not None else ())
        if isinstance(option.type, click.FloatRange) and isinstance(option, click.Option)
    ]


def test_there_are_some() -> None:
    assert ("suite", "--max-examiner-faults") in ranges()


@pytest.mark.parametrize(("command", "option"), ranges())
def test_nan_is_refused(command: str, option: str) -> None:
    found = CliRunner().invoke(viva, [command, option, "nan"])
    assert found.exit_code == 2
    assert "'nan'" in found.output


@pytest.mark.parametrize(("text", "number"), [("0.5", 0.5), ("1e0", 1.0), ("0", 0.0)])
def test_other_numbers_are_taken(text: str, number: float) -> None:
    assert NumberRange(0, 1).convert(text, None, None) == number
