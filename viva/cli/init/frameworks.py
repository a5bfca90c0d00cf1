"""Finds the frameworks in Viva's environment and in that of the project, and the one whose agent is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import click

from viva.cli.init import framework_texts as texts
from viva.cli.init.questions import answer
from viva.errors import SetupError
from viva.records.text import printable

NONE = "none"
"""The answer that asks for a class."""
VIRTUAL_ENV = "VIRTUAL_ENV"
USUAL = (".venv", "venv")
"""Where the environment of a project is, if none is active."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework whose agents can be examined as they are."""

    words: str
    page: str
    distributions: tuple[str, ...]
    agent: str | None
    """The text of a first agent, which needs neither a key nor a network; None where there can be none."""


FRAMEWORKS: Mapping[str, Framework] = {
    "autogen": Framework("AutoGen", "autogen", ("autogen-agentchat",), texts.AUTOGEN),
    "langgraph": Framework("LangGraph", "langgraph", ("langgraph",), texts.LANGGRAPH),
    "llama-index": Framework("LlamaIndex", "llamaindex", ("llama-index-core",), texts.LLAMA_INDEX),
    "openai-agents": Framework("the OpenAI Agents SDK", "openai-agents", ("openai-agents",), texts.AGENTS_SDK),
    "pydantic-ai": Framework("Pydantic AI", "pydantic-ai", ("pydantic-ai-slim",), texts.PYDANTIC_AI),
    "claude-agent-sdk": Framework("the Claude Agent SDK", "claude-agent-sdk", ("claude-agent-sdk",), None),
    "copilot": Framework("GitHub's Copilot SDK", "copilot", ("github-copilot-sdk",), None),
    "taskweaver": Framework("TaskWeaver", "taskweaver", ("taskweaver", "agentos-taskweaver"), None),
}
WRITTEN = tuple(name for name, framework in FRAMEWORKS.items() if framework.agent)


@dataclass(frozen=True, slots=True)
class FoundFramework:
    """A framework, and where it is."""

    name: str
    version: str
    environment: str
    """The environment's path as it is written in a SPEC; empty for Viva's own."""

    @property
    def framework(self) -> Framework:
        """Return what is known about it."""
        return FRAMEWORKS[self.name]


def chosen(wanted: str | None) -> FoundFramework | None:
    """Return the framework whose agent is to be written; None for a class.

    Args:
        wanted: The name from the command line, if there was one.

    Raises:
        SetupError: the one that is wanted is not there, or several are and nobody can be asked.
    """
    found = {each.name: each for each in _found()}
    _say(found)
    own = [name for name, each in found.items() if name in WRITTEN and (each.environment or name != "autogen")]
    if wanted is None and len(own) > 1:
        wanted = answer(None, f"Framework of the agent ({', '.join((*own, NONE))})", "--framework", own[0])
    name = wanted or (own[0] if own else NONE)
    if name == NONE:
        return None
    if name not in WRITTEN:
        raise SetupError(f"--framework {name} is none of {', '.join((*WRITTEN, NONE))}.")
    if name not in found:
        raise SetupError(
            f"{FRAMEWORKS[name].words} is neither in Viva's environment nor in that of this folder (the active one, "
            f"{' or '.join(USUAL)}). Install it there, or activate the environment that has it."
        )
    return found[name]


def _say(found: Mapping[str, FoundFramework]) -> None:
    for each in found.values():
        if each.environment or each.name != "autogen":  # Viva itself requires AutoGen, so that says nothing
            place = printable(each.environment) or "Viva's environment"
            words = each.framework.words
            click.echo(
                f"{words[:1].upper()}{words[1:]} {each.version} is in {place}: `viva docs {each.framework.page}`."
            )


def _found() -> Iterator[FoundFramework]:
    """Yield what is in each environment; where two have the same, the last one, which is the project's, counts."""
    names = {each: name for name, framework in FRAMEWORKS.items() for each in framework.distributions}
    for place, folders in _environments():
        for distribution in distributions(path=folders):
            name = names.get(str(distribution.metadata["Name"]).lower().replace("_", "-"))
            if name is not None:
                yield FoundFramework(name, printable(distribution.version), place)


def _environments() -> Iterator[tuple[str, list[str]]]:
    """Yield Viva's environment and that of the project, by its path and its folders of packages."""
    yield "", sys.path
    active = os.environ.get(VIRTUAL_ENV)
    for place in (active,) if active else USUAL:
        folder = Path(place)
        if (folder / "pyvenv.cfg").is_file() and not folder.samefile(sys.prefix):
            packages = [str(each) for each in sorted(folder.glob("lib/python3*/site-packages"))]
            yield (os.path.relpath(folder) if folder.absolute().is_relative_to(Path.cwd()) else str(folder)), packages
            return
