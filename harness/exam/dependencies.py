"""What cases depend on: got into the sandbox before the first exam, and looked for in the agent's environment."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from importlib import metadata

from adapters.connectors.python import LoadedAgent
from adapters.errors import SetupError
from cases import Case
from sandbox import DependencyError, Sandbox


async def provide_dependencies(sandbox: Sandbox, cases: Sequence[Case], at_once: int) -> None:
    """Get what the checks of these cases need, so that nobody is examined for a verdict that cannot be had.

    Args:
        sandbox: Where the checks will run.
        cases: Of these, those with `eval_code` and dependencies matter.
        at_once: How many different sets are got at the same time.

    Raises:
        SetupError: some cannot be had; names the requirements and the cases.
        SandboxError: the sandbox failed.
    """
    sets: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        if case.dependencies and any(point.eval_code for point in case.scoring_points):
            sets.setdefault(tuple(case.dependencies), []).append(case.name)
    places = asyncio.Semaphore(at_once)

    async def provide(dependencies: tuple[str, ...], names: list[str]) -> str | None:
        async with places:
            try:
                await sandbox.provide(dependencies)
            except DependencyError as error:
                return f"{_cases(names)} cannot be judged: {error}"
        return None

    mistakes = [words for words in await asyncio.gather(*(provide(*each) for each in sets.items())) if words]
    if mistakes:
        raise SetupError("\n".join(mistakes))


def missing_for_agent(case: Case, agent: LoadedAgent) -> list[str]:
    """A notice on the case's dependencies that an agent would not find in the environment that Viva starts it in."""
    if agent.spec.startswith(("http://", "https://", "example:")) or not case.dependencies:
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
            missing.append(f"{text} (here: {version})")
    if not missing:
        return []
    whose = "Viva's environment" if agent.search_path is None else "the agent's environment"
    return [f"{case.name} says that the agent needs {', '.join(missing)}, which is not in {whose}"]


def _version_of(package: str, agent: LoadedAgent) -> str | None:
    path = sys.path if agent.search_path is None else list(agent.search_path)
    found = next(iter(metadata.distributions(name=package, path=path)), None)
    return None if found is None else found.version


def _cases(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the case {shown}" if len(names) == 1 else f"the cases {shown}"
