"""Reports before the first exam what is wrong with the checks of its cases, such as modules that are missing.

What can be told beforehand need not be guessed when a check has ended, where an agent could bring it about.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from viva.cases import Case, check_findings
from viva.cases.check_code.imports import Imported, advice, unexplained_imports
from viva.errors import SetupError
from viva.records.text import one_line
from viva.sandbox import Ending, RunView, Sandbox, SandboxError

_LOOK = """
import importlib.util
def is_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return True
print(json.dumps([name for name in {names!r} if is_missing(name)]))
"""
_MOST_CASES = 200
"""Maximum number of cases whose checks are looked at for notices, which takes some milliseconds for each."""
_MOST = 20
"""Maximum number of notices about one case."""


@dataclass(frozen=True, slots=True)
class _Import:
    case: Case
    point: int
    imported: Imported

    def __str__(self) -> str:
        where = f"line {self.imported.line} of the eval_code of point {self.point}"
        name = self.imported.name
        return f"the case {self.case.name!r} imports {name!r} ({where}), which is not installed: {advice(name)}."


async def notices_about_checks(sandbox: Sandbox, cases: Sequence[Case], *, refuse: bool) -> list[str]:
    """Return what is probably wrong with the checks of these cases.

    Args:
        sandbox: Runs the checks, with the cases' dependencies.
        cases: The cases.
        refuse: Whether an import that nobody can satisfy is an error: the exams have not begun.

    Raises:
        SetupError: with `refuse`, a check cannot pass without a module that is not installed, and the case does not ask
            the agent to write it.
        SandboxError: the sandbox failed.
    """
    missing = await _missing_imports(sandbox, cases)
    certain = [str(each) for each in missing if each.imported.is_certain]
    if certain and refuse:
        raise SetupError("\n".join(certain))
    found = [str(each) for each in missing]
    for case in cases[:_MOST_CASES]:
        findings = [each for each in check_findings(case) if each.in_runs]
        found += [
            f"the case {case.name!r}, line {each.line} of the eval_code of point {each.point}: {one_line(each.message)}"
            for each in findings[:_MOST]
        ]
    return found


async def _missing_imports(sandbox: Sandbox, cases: Sequence[Case]) -> list[_Import]:
    """Return the imports that neither the case explains nor the sandbox has installed."""
    sets: dict[tuple[str, ...], list[_Import]] = {}
    for case in cases:
        for number, point in enumerate(case.scoring_points, 1):
            for each in unexplained_imports(case, point.eval_code) if point.eval_code else ():
                sets.setdefault(tuple(case.dependencies), []).append(_Import(case, number, each))
    found: list[_Import] = []
    for dependencies, imports in sets.items():
        names = sorted({each.imported.name for each in imports})
        missing = await _not_installed(sandbox, dependencies, names)
        found += [each for each in imports if each.imported.name in missing]
    return found


async def _not_installed(sandbox: Sandbox, dependencies: tuple[str, ...], names: list[str]) -> set[str]:
    session = await sandbox.open(None, RunView(), dependencies=dependencies, run_id="imports")
    try:
        result = await session.check(_LOOK.format(names=names))
    finally:
        await session.close()
    try:
        if result.ending is Ending.PASSED:
            return set(json.loads(result.output))
    except ValueError:
        pass
    raise SandboxError(f"the sandbox could not look for installed modules: {result.message or result.output[:200]}")
