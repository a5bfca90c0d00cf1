"""The command `viva init adapter`."""

from __future__ import annotations

import importlib.util
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from viva.adapters.connectors.table import CONNECTORS
from viva.cli.init.ending import ended, force_option
from viva.cli.init.frameworks import NONE, WRITTEN, chosen
from viva.cli.init.openapi import agent_file
from viva.cli.init.questions import answer
from viva.cli.init.surroundings import FoundAddress, look_at
from viva.cli.init.texts import ADAPTER, ADAPTER_TEST
from viva.cli.init.written import try_once, write_files
from viva.cli.process import report_user_errors
from viva.errors import SetupError
from viva.records.text import one_line


@dataclass(frozen=True, slots=True)
class FirstAgent:
    """What is written about an agent."""

    file: Path
    text: str
    spec: str
    agent: str
    """The agent as the test names it, in Python."""
    imports: str
    next_step: str


@click.command("adapter")
@click.option("--name", help="The class, or the name of the agent's file, such as MyAgent.")
@click.option("--framework", help=f"Write an agent of a framework ({', '.join(WRITTEN)}), or a class ({NONE}).")
@click.option("--url", help="The agent's address: an agent file is written instead of a class.")
@click.option("--path", help="With --url: the operation of the OpenAPI document that takes messages.")
@force_option
@report_user_errors
def adapter(name: str | None, framework: str | None, url: str | None, path: str | None, force: bool) -> None:
    """Write an adapter and a test: a class, an agent of a framework, or an agent file for an address.

    Without --framework and --url, Viva looks for a framework in its own environment and in that of this folder.
    """
    if path is not None and url is None:
        raise SetupError("--path chooses an operation of the address given with --url, which is missing.")
    if framework is not None and url is not None:
        raise SetupError("--framework is for an agent in Python, and --url for one at an address; omit one of them.")
    found = None if url is None else look_at(url)
    name = answer(name, "Name of the agent's class", "--name", "MyAgent")
    if not name.isidentifier():
        raise SetupError(f"{name!r} cannot be the name of a class: use letters, digits and underscores.")
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    first = _in_python(name, stem, framework) if found is None else _at_address(stem, found, path)
    test = Path(f"test_{stem}.py")
    text = ADAPTER_TEST.format(name=name, test=test, agent=first.agent, imports=first.imports)
    write_files({first.file: first.text, test: text}, force=force)
    if importlib.util.find_spec("pytest") is None:
        worked = try_once("viva", "run", "echo", "--agent", first.spec, "--sandbox", "process", "--quiet")
    else:
        worked = try_once("pytest", "-q", "-p", "no:cacheprovider", str(test))
    ended(worked, first.next_step, f"viva run sum_1_to_50 --agent {shlex.quote(first.spec)}", "viva init case")


def _in_python(name: str, stem: str, framework: str | None) -> FirstAgent:
    file, found = Path(f"{stem}.py"), chosen(framework)
    todo = f"ask your agent in {file}, where it says `yours`"
    if found is None or found.framework.agent is None:
        return FirstAgent(
            file, ADAPTER.format(name=name), f"{file}:{name}", name, f"from {stem} import {name}\n\n", todo
        )
    spec = f"{file}:agent" + (f"@{found.environment}" if found.environment else "")
    return FirstAgent(file, found.framework.agent.format(name=stem), spec, _quoted(spec), "", todo)


def _at_address(stem: str, found: FoundAddress, path: str | None) -> FirstAgent:
    file = f"{stem}.yaml"
    return FirstAgent(Path(file), _described(found, path), file, _quoted(file), "", f"check {file}: `viva docs http`")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


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
