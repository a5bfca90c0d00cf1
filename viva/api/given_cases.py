"""Reads cases that a Python program passes: by name, by path, or as Case objects."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from viva.api.arguments import checked
from viva.cases import Case, CaseError, Mistake, ScriptLine, UserFact, find_case
from viva.cases import load_case as load_case_at
from viva.cases.case import READER
from viva.cases.data_files import hash_case
from viva.cases.field_readers import CaseReader
from viva.cases.mcp_servers.server import McpServer
from viva.cases.points.as_in_a_file import points_as_in_a_file
from viva.cases.yaml_lines import LineNumbers
from viva.errors import SetupError

CaseLike = Case | str | os.PathLike[str]


@checked
def load_case(case: str | os.PathLike[str]) -> Case:
    """Load a case.

    Args:
        case: The path of its folder or of the YAML file in it, or the name of a bundled case.

    Raises:
        CaseError: there is no such case, or it is invalid; `mistakes` holds everything that is wrong with it.
    """
    return load_case_at(find_case(os.fspath(case)))


def listed(cases: CaseLike | Iterable[CaseLike]) -> tuple[CaseLike, ...]:
    """Return one or several cases or folders of cases as a tuple."""
    return (cases,) if isinstance(cases, Case | str | os.PathLike) else tuple(cases)


def as_paths(cases: Iterable[CaseLike]) -> tuple[tuple[str, ...], dict[str, Case]]:
    """Return the names of the cases in a plan, and the Case objects by these names.

    A Case that equals its file is named by its path, so that the command line can resume the suite. Any other Case
    exists only in this program and gets a new hash, by which journals distinguish cases.

    Raises:
        CaseError: a case that was made or changed in this program is invalid.
        SetupError: two different cases have the same name.
    """
    paths: list[str] = []
    given: dict[str, Case] = {}
    for case in cases:
        if not isinstance(case, Case):
            paths.append(os.fspath(case))
        elif _is_as_its_file_says(case):
            paths.append(str(case.file))
        else:
            path, made = f"{case.name} (made in Python)", with_own_hash(case)
            if given.setdefault(path, made) != made:
                raise SetupError(f"two cases are called {case.name!r}: give one another name (replace(case, name=…)).")
            paths.append(path)
    return tuple(paths), given


def as_one(case: CaseLike) -> tuple[Case, tuple[str, ...], dict[str, Case]]:
    """Return one case, and the result of `as_paths` for it.

    Raises:
        CaseError: there is no such case, or it is invalid.
    """
    loaded = load_case(case) if isinstance(case, str | os.PathLike) else case
    paths, given = as_paths([loaded])
    return given.get(paths[0], loaded), paths, given


def with_own_hash(case: Case) -> Case:
    """Return the case with the hash of its present content, after checking it.

    Raises:
        CaseError: the case is invalid.
    """
    # Imported here, because it loads pydantic, which `load_case` does not require.
    from viva.records.codec import encode

    reader = CaseReader(_as_in_a_file(case), LineNumbers(), case.file)
    reader.read()
    mistakes: list[Mistake | str] = [*reader.mistakes]
    if not case.name:
        mistakes.append("the case has no name")
    if len({point.id for point in case.scoring_points}) < len(case.scoring_points):
        mistakes.append("two scoring points have the same id")
    if mistakes:
        raise CaseError(case.name or "a case without a name", mistakes)
    raw = encode(replace(case, hash="", file=Path(case.file.name)))
    return replace(case, hash=hash_case(raw, case.folder, case.own_files))


def _is_as_its_file_says(case: Case) -> bool:
    if not os.path.isfile(case.file):
        return False
    try:
        return replace(load_case_at(case.file), file=case.file) == case
    except CaseError:
        return False


def _as_in_a_file(case: Case) -> dict[str, object]:
    """Return the fields in the form of a case file, for the reader that checks those of files."""
    data = {field.name: getattr(case, field.name) for field in fields(Case) if READER in field.metadata}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}
    script = [_script_line(line) for line in case.script]
    limits = {field.name: getattr(case.check_limits, field.name) for field in fields(case.check_limits)}
    return {
        **plain,
        **_person(case),
        "scoring_points": points_as_in_a_file(case),
        "script": script or None,
        "solution": [{"say": reply.say, "files": dict(reply.files)} for reply in case.solution] or None,
        "check_limits": limits,
        "mcp": [_server(server) for server in case.mcp] or None,
        "conversation": [_filled(turn) for turn in case.conversation] or None,
    }


def _server(server: McpServer) -> dict[str, object]:
    filled = _filled(server)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in filled.items()}


def _person(case: Case) -> dict[str, object]:
    """Return the fields that describe a person, in the long form of each."""
    facts = [{"says": fact.says, "when": _when(fact)} for fact in case.facts]
    single = {key: getattr(case, key) for key in ("user", "insist", "done_when", "strategy")}
    return {"facts": facts or None} | {key: None if value is None else _filled(value) for key, value in single.items()}


def _when(fact: UserFact) -> object:
    return {"step": fact.step} if fact.when == "step" else fact.when


def _filled(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass that are not None."""
    return {field.name: each for field in fields(value) if (each := getattr(value, field.name)) is not None}


def _script_line(line: ScriptLine) -> dict[str, object]:
    data: dict[str, object] = {"say": line.say}
    if line.first is not None:
        data["for"] = f"{line.counter} in {line.first}..{line.last}"
    if line.if_agent_says is not None:
        data["if_agent_says"] = line.if_agent_says
    return data
