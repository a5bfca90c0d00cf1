"""The `solution` of a case: what it may hold, and that nothing of it leaves the agent's workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from viva.api.given_cases import with_own_hash
from viva.cases import Case, CaseError, load_case
from viva.cases.solution import SolutionReply
from viva.records.codec import decode, encode, loads

CASE = "task_description: x\nscoring_points:\n- score_point: y\n  weight: 1\n"


def load(folder: Path, solution: object) -> tuple[SolutionReply, ...]:
    (folder / "case.yaml").write_text(CASE + yaml.safe_dump({"solution": solution}))
    return load_case(folder).solution


def test_a_solution_is_a_list_of_replies_with_the_files_that_come_with_them(tmp_path: Path) -> None:
    assert load(tmp_path, ["One.", {"say": "Two.", "files": {"a/b.txt": "2"}}]) == (
        SolutionReply("One."),
        SolutionReply("Two.", {"a/b.txt": "2"}),
    )
    assert load(tmp_path, "One.") == (SolutionReply("One."),)
    assert load(tmp_path, {"say": ""}) == (SolutionReply(""),)
    assert load(tmp_path, None) == ()


@pytest.mark.parametrize(
    ("solution", "line", "words"),
    [
        ([], 5, "solution must be a list of replies"),
        (7, 5, "solution must be a list of replies"),
        ([7], 6, "a reply of the solution is text, or has the keys say, files; this is 7"),
        ([{"files": {}}], 6, "needs text in 'say', not None"),
        ([{"say": "x", "file": {}}], 6, "unknown key 'file'; did you mean 'files'?"),
        ([{"say": "x", "files": ["a"]}], 6, "files must be a mapping of paths to contents"),
        ([{"say": "x", "files": {"a": 1}}], 6, "the content of 'a' must be text, not 1"),
        ([{"say": "x", "files": {"../a": "1"}}], 6, "'../a' is not a path inside the agent's workspace"),
        ([{"say": "x", "files": {"/a": "1"}}], 6, "'/a' is not a path"),
        ([{"say": "x", "files": {"": "1"}}], 6, "'' is not a path"),
        ([{"say": "x", "files": {"a/../../b": "1"}}], 6, "is not a path inside"),
    ],
)
def test_a_mistake_in_a_solution_is_told_with_its_line(tmp_path: Path, solution: object, line: int, words: str) -> None:
    with pytest.raises(CaseError) as raised:
        load(tmp_path, solution)
    (mistake,) = [each for each in raised.value.mistakes if words in each.message]
    assert abs((mistake.line or 0) - line) <= 2


def test_a_solution_survives_a_journal_and_a_case_without_one_is_stored_as_before(tmp_path: Path) -> None:
    load(tmp_path, ["One.", {"say": "Two.", "files": {"a.txt": "2"}}])
    case = with_own_hash(load_case(tmp_path))
    stored = encode(replace(case, hash=""))
    assert decode(Case, loads(stored)) == replace(case, hash="")
    assert b'"solution":' not in encode(replace(case, solution=()))
