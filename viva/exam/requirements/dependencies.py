"""Installs the dependencies of cases in the sandbox before the first exam, and checks the agent's environment."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from importlib import metadata

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case
from viva.errors import SetupError
from viva.sandbox import DependencyError, Sandbox


async def provide_dependencies(sandbox: Sandbox, cases: Sequence[Case], at_once: int) -> None:
    """Install what the checks of these cases require, so that no exam runs that cannot be judged.

    Args:
        sandbox: Runs the checks.
        cases: Those without `eval_code` or without dependencies are skipped.
        at_once: Maximum number of different sets that are installed concurrently.

    Raises:
        SetupError: some cannot be installed; the message names the requirements and the cases.
        SandboxError: the sandbox failed.
    """
    sets: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        if case.dependencies and any(point.eval_code for point in case.scoring_points):
            sets.setdefault(tuple(case.dependencies), []).append(case.name)
    slots = asyncio.Semaphore(at_once)

    async def provide(dependencies: tuple[str, ...], names: list[str]) -> str | None:
        async with slots:
            try:
                await sandbox.provide(dependencies)
            except DependencyError as error:
                return f"{_cases(names)} cannot be judged: {error}"
        return None

    mistakes = [words for words in await asyncio.gather(*(provide(*each) for each in sets.items())) if words]
    if mistakes:
        raise SetupError("\n".join(mistakes))


def missing_for_agent(case: Case, agent: LoadedAgent) -> list[str]:
    """Return a notice about dependencies of the case that are missing in the environment in which the agent runs."""
    if agent.kind not in ("python", "child") or not case.dependencies:
        return []
    from packaging.requirements import Requirement

    missing = []
    for text in case.dependencies:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = _version_of(requirement.name, agent)
        if version is None:
            missing.append(text)
        elif requirement.specifier and not requirement.specifier.contains(version, prereleases=True):
            missing.append(f"{text} (installed: {version})")
    if not missing:
        return []
    whose = "Viva's environment" if agent.search_path is None else "the agent's environment"
    return [f"{case.name} requires {', '.join(missing)}, not installed in {whose}"]


def _version_of(package: str, agent: LoadedAgent) -> str | None:
    path = sys.path if agent.search_path is None else list(agent.search_path)
    found = next(iter(metadata.distributions(name=package, path=path)), None)
    return None if found is None else found.version


def _cases(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the case {shown}" if len(names) == 1 else f"the cases {shown}"
