"""The keys of `viva.yaml` are the options of the commands, and what a key says is what the option says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from viva.cli.commands import run, suite
from viva.cli.project.option_keys import OF_ONE_CALL, keys_of
from viva.project.forms import FORMS
from viva.project.keys import Key, Takes

KEYS = keys_of(suite.command)
COMMANDS = [pytest.param(each, id=each.name or "") for each in (suite.command, run.command)]
TEXTS = {
    "examiner": "script",
    "level": "round",
    "sandbox": "bwrap",
    "sandbox_fresh": "container",
    "screenshots": "ends",
    "permissions": "deny",
    "judge": "code",
    "engine": "ray",
    "app_dir": "/tmp",
}
"""Values that the option of this key accepts, where it does not accept any."""


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_has_its_key_and_each_key_its_option(command: click.Command) -> None:
    keys = keys_of(command)
    options = {each.name: each for each in command.params if isinstance(each, click.Option)}
    assert {key.parameter for key in keys.values()} - {"paths"} == options.keys() - OF_ONE_CALL
    for name, key in keys.items():
        if name != "cases":
            assert key.flag in options[key.parameter].opts
            assert name == key.flag.removeprefix("--").replace("-", "_")


def test_options_without_a_key_are_about_one_call() -> None:
    named = {each.name for each in suite.command.params if each.name}
    assert named >= OF_ONE_CALL - {"help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_known_of_each_option_whether_it_loads_code(command: click.Command) -> None:
    unknown = {each.name for each in command.params} - FORMS.keys() - OF_ONE_CALL
    assert not unknown, f"say in viva/project/forms.py what their values are: {unknown}"


def sample(key: Key) -> tuple[Any, list[str]]:
    """A value that is not the default, as YAML and as words of a command line."""
    match key.takes:
        case Takes.FLAG:
            return True, [key.flag]
        case Takes.WHOLE:
            return 33, [key.flag, "33"]
        case Takes.NUMBER:
            return 0.5, [key.flag, "0.5"]
        case Takes.SECONDS:
            return "2m", [key.flag, "2m"]
        case Takes.ENTRY:
            return [0.25, {"other": 0.5, "third": "x"}], [
                word for value in ("0.25", "other=0.5", "third=x") for word in (key.flag, value)
            ]
    text = TEXTS.get(key.name, "text")
    if key.several:
        return [text, f"{text}2"], [key.flag, text, key.flag, f"{text}2"]
    return text, [key.flag, text]


def parsed(*arguments: str) -> dict[str, Any]:
    """What `viva suite` receives."""
    context = suite.command.make_context("suite", list(arguments))
    return context.params


@pytest.mark.parametrize("name", sorted(KEYS.keys() - {"cases"}))
def test_a_key_says_what_its_option_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    value, words = sample(KEYS[name])
    Path("viva.yaml").write_text(yaml.safe_dump({"suites": {"exams": {"cases": "echo", name: value}}}))
    from_file, typed, neither = parsed("exams"), parsed("echo", *words), parsed("echo")
    assert from_file == {**typed, "paths": ("echo",)}
    assert from_file != neither


def test_what_is_typed_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exams = {"cases": "echo", "agent": ["a.py:A", "b.py:B"], "trials": 3, "isolate": True, "fail_under": 0.5}
    Path("viva.yaml").write_text(yaml.safe_dump({"defaults": {"votes": 5}, "suites": {"exams": exams}}))
    params = parsed("exams", "--agent", "c.py:C", "--trials", "1", "--fail-under", "0")
    assert (params["agents"], params["trials"], params["fail_under"]) == (("c.py:C",), 1, ("0",))
    assert params["isolate"]
    assert params["votes"] == 5


def test_an_empty_value_cancels_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("viva.yaml").write_text(
        "defaults: {trials: 3, cases: echo}\nsuites:\n  one: {trials: }\n  two: {cases: sum_1_to_50}\n"
    )
    assert parsed("one")["trials"] == 1
    assert parsed("two")["trials"] == 3
    assert parsed("two")["paths"] == ("sum_1_to_50",)
