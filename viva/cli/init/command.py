"""The command `viva init adapter|case|suite|ci`."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml

from viva.cases import load_case
from viva.cli.init.adapter import adapter
from viva.cli.init.ending import ended, force_option
from viva.cli.init.questions import answer
from viva.cli.init.texts import CASE, PROJECT
from viva.cli.init.texts import WORKFLOW as SHORT_WORKFLOW
from viva.cli.init.written import try_once, write_files
from viva.cli.process import report_user_errors
from viva.cli.project.used_file import nearest_project, read_found
from viva.errors import SetupError
from viva.project.finding import NAME, read_file
from viva.project.trust import digest_of, trust

WORKFLOW = Path(".github/workflows/exams.yml")
MODELS = (Path(__file__).with_name("github-actions.yml"), Path(__file__).parents[3] / "examples/ci/github-actions.yml")
"""The workflow where Viva is installed, and in its repository."""
NOBODY = "example:careful"
SUITE = "exams"


@click.group("init")
def command() -> None:
    """Write a first adapter, case, suite or CI workflow, and try it.

    On a terminal, Viva asks for missing values; elsewhere, pass all of them as options.
    """


command.add_command(adapter)


def _case_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--task", help="What the agent is asked to do."),
        click.option("--expect", "expected", help="Words that the agent must say."),
        click.option("--agent", help=f"The agent with which it is tried (default: {NOBODY})."),
        force_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@command.command("case")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@_case_options
@report_user_errors
def case(folder: Path | None, task: str | None, expected: str | None, agent: str | None, force: bool) -> None:
    """Write a case into FOLDER: a task, a script, and two scoring points that are checked by code."""
    folder = Path(answer(None if folder is None else str(folder), "Folder of the case", "FOLDER", "cases/first"))
    _write_case(folder, task, expected, force)
    worked = _tried("run", folder, agent)
    ended(
        worked,
        f"edit {folder / 'case.yaml'}: `viva docs write-a-case`",
        f"viva cases check {folder}",
        "viva init suite",
    )


def _write_case(folder: Path, task: str | None, expected: str | None, force: bool) -> None:
    task = answer(task, "What is the agent asked to do?", "--task", "Please add 17 and 25.")
    expected = answer(expected, "Which words must it say?", "--expect", "42")
    if not task.strip() or not expected.strip():
        raise SetupError("a case needs a task and words that the agent must say; neither may be empty.")
    file = folder / "case.yaml"
    if others := sorted(each.name for each in folder.glob("*.y*ml") if each != file):
        raise SetupError(f"{folder} already holds {others[0]}, and a folder holds one case. Choose another folder.")
    text = CASE.format(task=_scalar(task), expected=_scalar(expected))
    write_files({file: text}, force=force)
    load_case(folder)


@command.command("suite")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@_case_options
@report_user_errors
def suite(folder: Path | None, task: str | None, expected: str | None, agent: str | None, force: bool) -> None:
    """Write a folder with two cases, and a viva.yaml in which they are a suite with a gate; run it.

    Every folder below FOLDER that holds a case belongs to the suite. An existing viva.yaml is not changed.
    """
    folder = Path(answer(None if folder is None else str(folder), "Folder of the cases", "FOLDER", "cases"))
    _write_case(folder / "first", task, expected, force)
    _write_case(folder / "greeting", "Please greet me with the word Hello.", "Hello", force)
    name = _write_project(folder, agent or NOBODY)
    if name is None:
        worked, run_it = _tried("suite", folder, agent), f"viva suite {shlex.quote(str(folder))}"
    else:
        worked, run_it = _tried("suite", folder, None, name), f"viva suite {name}"
    ended(
        worked,
        f"add cases: viva init case {folder / 'another'}",
        f"run all: {run_it}",
        f"viva init ci{f' --suite {name}' if name else ''}",
    )


def _write_project(folder: Path, agent: str) -> str | None:
    """Write a `viva.yaml`, which is trusted, because the user has just given all that is in it.

    Returns:
        The name of the suite; None if there is a file already.
    """
    file = Path(NAME)
    if os.path.lexists(file):
        click.echo(f"{file} exists, and stays as it is; a suite of these cases needs: cases: {folder}")
        return None
    name = next(each for each in (SUITE, f"all-{SUITE}", f"new-{SUITE}") if not os.path.lexists(each))
    text = PROJECT.format(name=name, cases=_scalar(str(folder)), agent=_scalar(agent))
    write_files({file: text}, force=False)
    project = read_found(read_file(file))
    with contextlib.suppress(SetupError):  # nothing can be remembered on this machine: Viva will ask
        trust(project, digest_of(project))
    return name


def _tried(what: str, folder: Path, agent: str | None, name: str | None = None) -> bool:
    checked = try_once("viva", "cases", "check", str(folder))
    if name is not None:
        again = ("--trust", "--fail-under", "0", "--sandbox", "process", "--quiet")
        return checked and try_once("viva", what, name, *again)
    # What is checked was written by Viva just now, so it needs no isolation.
    return checked and try_once(
        "viva", what, str(folder), "--agent", agent or NOBODY, "--sandbox", "process", "--quiet"
    )


@command.command("ci")
@click.option("--agent", help="The agent that is tested, such as my_agent.py:MyAgent.")
@click.option("--cases", help="The folder of the cases.")
@click.option("--suite", "name", help="A suite of viva.yaml, which holds all of this, so the workflow is short.")
@force_option
@report_user_errors
def ci(agent: str | None, cases: str | None, name: str | None, force: bool) -> None:
    """Write a workflow for GitHub Actions that runs a suite in every pull request."""
    if name is not None:
        if agent is not None or cases is not None:
            raise SetupError("--suite names a suite of viva.yaml, which has the agent and the cases; omit the others.")
        _write_short_workflow(name, force)
        return
    model = next((file for file in MODELS if file.is_file()), None)
    if model is None:
        raise SetupError("the model of the workflow is not installed; it is on the page `viva docs ci`.")
    agent = answer(agent, "Agent that is tested", "--agent", "my_agent.py:MyAgent")
    cases = answer(cases, "Folder of the cases", "--cases", "cases/")
    if not Path(cases).is_dir():
        raise SetupError(f"there is no folder {cases}; `viva init suite {cases}` writes one.")
    text = model.read_text(encoding="utf-8")
    for name, value in (("AGENT", agent), ("CASES", cases)):
        before, line = re.split(rf"^  {name}: .*$", text, maxsplit=1, flags=re.MULTILINE), f"  {name}: {_scalar(value)}"
        text = line.join(before)
    write_files({WORKFLOW: text}, force=force)
    worked = try_once("viva", "cases", "check", cases)
    ended(
        worked,
        f"say in {WORKFLOW} where Viva comes from (its first line marked `yours`)",
        "commit it, and open a pull request",
        "viva docs ci",
    )


def _write_short_workflow(name: str, force: bool) -> None:
    project = nearest_project()
    if project is None or project.file.folder != Path.cwd().resolve():
        raise SetupError(f"there is no {NAME} in this folder; `viva init suite` writes one.")
    project.suite(name)
    write_files({WORKFLOW: SHORT_WORKFLOW.format(name=name)}, force=force)
    ended(
        True,
        f"say in {WORKFLOW} where Viva comes from (the line marked `yours`)",
        "install what the agent needs there, and name its secrets: `viva docs ci`",
        "commit it, and open a pull request",
    )


def _scalar(text: str) -> str:
    """Return text as one line of YAML."""
    style = '"' if "\n" in text else None
    return yaml.safe_dump(text, default_style=style, width=10**6).removesuffix("\n").removesuffix("\n...")
