"""The command `viva init adapter|case|suite|ci`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml

from viva.adapters.connectors.table import CONNECTORS
from viva.cases import load_case
from viva.cli.init.openapi import agent_file
from viva.cli.init.questions import answer
from viva.cli.init.surroundings import FoundAddress, frameworks_here, look_at
from viva.cli.init.texts import ADAPTER, ADAPTER_TEST, CASE, PROJECT
from viva.cli.init.texts import WORKFLOW as SHORT_WORKFLOW
from viva.cli.init.written import try_once, write_files
from viva.cli.process import fail, report_user_errors
from viva.cli.project.used_file import nearest_project, read_found
from viva.errors import SetupError
from viva.exam.outcome import EXIT_NOT_SCORED
from viva.project.finding import NAME, read_file
from viva.project.trust import digest_of, trust
from viva.records.text import one_line

WORKFLOW = Path(".github/workflows/exams.yml")
MODELS = (Path(__file__).with_name("github-actions.yml"), Path(__file__).parents[3] / "examples/ci/github-actions.yml")
"""The workflow where Viva is installed, and in its repository."""
NOBODY = "example:careful"
SUITE = "exams"
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")


@click.group("init")
def command() -> None:
    """Write a first adapter, case, suite or CI workflow, and try it.

    On a terminal, Viva asks for missing values; elsewhere, pass all of them as options.
    """


@command.command("adapter")
@click.option("--name", help="The class, or the name of the agent's file, such as MyAgent.")
@click.option("--url", help="The agent's address: an agent file is written instead of a class.")
@click.option("--path", help="With --url: the operation of the OpenAPI document that takes messages.")
@force_option
@report_user_errors
def adapter(name: str | None, url: str | None, path: str | None, force: bool) -> None:
    """Write an adapter and a test: a class, or an agent file for an address."""
    if path is not None and url is None:
        raise SetupError("--path chooses an operation of the address given with --url, which is missing.")
    found = None if url is None else look_at(url)
    name = answer(name, "Name of the agent's class", "--name", "MyAgent")
    if not name.isidentifier():
        raise SetupError(f"{name!r} cannot be the name of a class: use letters, digits and underscores.")
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    test = Path(f"test_{stem}.py")
    if found is None:
        file, text, spec, agent = Path(f"{stem}.py"), ADAPTER.format(name=name), f"{stem}.py:{name}", name
        imports = f"from {stem} import {name}\n\n"
        for framework in frameworks_here():
            click.echo(f"{framework} is installed here; `viva docs agents` says whether its agents need an adapter.")
    else:
        file, text = Path(f"{stem}.yaml"), _described(found, path)
        spec, agent, imports = str(file), repr(str(file)).replace("'", '"'), ""
    write_files(
        {file: text, test: ADAPTER_TEST.format(name=name, test=test, agent=agent, imports=imports)}, force=force
    )
    if importlib.util.find_spec("pytest") is None:
        worked = try_once("viva", "run", "echo", "--agent", spec, "--sandbox", "process", "--quiet")
    else:
        worked = try_once("pytest", "-q", "-p", "no:cacheprovider", str(test))
    what = f"ask your agent in {file}, where it says `yours`" if found is None else f"check {file}: `viva docs http`"
    _ended(worked, what, f"viva run sum_1_to_50 --agent {shlex.quote(spec)}", "viva init case")


def _described(found: FoundAddress, path: str | None) -> str:
    if found.kind == "openapi":
        return agent_file(found, path)
    if found.kind == "card":
        if "a2a" not in CONNECTORS.builtin:
            raise SetupError(f"{found.base} has an A2A agent card, but this version of Viva has no connector for it.")
        return yaml.safe_dump({"connector": "a2a", "url": found.base}, sort_keys=False)
    ids = [each["id"] for each in found.document["data"] if isinstance(each, dict) and isinstance(each.get("id"), str)]
    if not ids:
        raise SetupError(f"the server at {found.base} lists no model.")
    others = f"# It also has {one_line(', '.join(ids[1:6]), 100)}.\n" if ids[1:] else ""
    return others + yaml.safe_dump({"connector": "http", "url": found.base, "model": ids[0]}, sort_keys=False)


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
    _ended(
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
    _ended(
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
    _ended(
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
    _ended(
        True,
        f"say in {WORKFLOW} where Viva comes from (the line marked `yours`)",
        "install what the agent needs there, and name its secrets: `viva docs ci`",
        "commit it, and open a pull request",
    )


def _scalar(text: str) -> str:
    """Return text as one line of YAML."""
    style = '"' if "\n" in text else None
    return yaml.safe_dump(text, default_style=style, width=10**6).removesuffix("\n").removesuffix("\n...")


def _ended(worked: bool, *steps: str) -> None:
    click.echo("\nNext" if worked else "\nIt was written, but the trial failed: see above. Next")
    for step in steps:
        click.echo(f"  {step}")
    if not worked:
        fail("viva: the trial failed.", EXIT_NOT_SCORED)
