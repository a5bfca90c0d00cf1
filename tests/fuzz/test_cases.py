"""Case files that were damaged or forged: a case or a `CaseError`, and an exam that stays within its folders."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import changed, damaged, fuzzing
from tests.fuzz.originals import MOST_GROWTH, SECRET, Original, make_original, peak_memory, said
from viva.cases import CaseError
from viva.cases.load import load_case
from viva.journal.errors import JournalError
from viva.journal.reader import read_records

FULL: dict[str, Any] = {
    "version": 0.1,
    "task_description": "Ask the agent to count.",
    "config_var": {"execution_service.kernel_mode": "local"},
    "app_dir": "app",
    "dependencies": ["numpy>=1.20"],
    "data_files": ["numbers.csv"],
    "max_rounds": 4,
    "pre_command": ["touch OUTSIDE/new.txt"],
    "verbose": False,
    "tags": ["fuzz"],
    "timeout": 20,
    "check_limits": {"seconds": 5, "memory_mb": 64},
    "scoring_points": [
        {"score_point": "It counts.", "weight": 1, "eval_code": "assert rounds[3]['agent'] == '4'\n", "id": "counts"},
        {"score_point": "It begins.", "weight": 2.5},
    ],
    "script": [
        "Begin.",
        {"for": "n in 1..4", "say": "Say {{n}}."},
        {"if_agent_says": "4|four", "say": "Good.", "else": "Again."},
    ],
}
TEXT = yaml.safe_dump(FULL, sort_keys=False).encode()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return make_original(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(100, each=1000, batches=15))
def test_a_damaged_case_file_is_a_case_or_a_list_of_mistakes(
    original: Original, tmp_path: Path, examples: int, batch: int
) -> None:
    file = tmp_path / "case.yaml"
    (tmp_path / "numbers.csv").write_text("1")

    @seed(batch)
    @fuzzing(examples)
    @given(st.data(), st.booleans())
    def each(data: st.DataObject, forged: bool) -> None:
        if forged:
            value = changed(FULL, data.draw(mutations.forged), str(original.outside))
            try:
                file.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8", errors="surrogateescape")
            except UnicodeEncodeError:
                return
        else:
            file.write_bytes(damaged(TEXT, data.draw(mutations.shuffled)))
        before = peak_memory()
        with contextlib.suppress(CaseError):
            case = load_case(tmp_path)
            assert all(name == "numbers.csv" or name == "case.yaml" for name in case.data_files), case.data_files
            assert all(point.weight > 0 for point in case.scoring_points)
        assert peak_memory() - before < MOST_GROWTH

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(15, each=300, batches=15))
def test_an_exam_by_a_forged_case_file_touches_nothing_outside(original: Original, examples: int, batch: int) -> None:
    place, folder = original.place, original.place / "strange"
    runnable = {key: value for key, value in FULL.items() if key not in ("pre_command", "dependencies")}

    @seed(batch)
    @fuzzing(examples)
    @given(mutations.forged, st.sampled_from(["run", "check", "suite"]), st.booleans())
    def each(changes: list[Any], command: str, linked: bool) -> None:
        value = changed(runnable if command == "run" else FULL, changes, str(original.outside))
        folder.mkdir()
        try:
            (folder / "case.yaml").write_text(yaml.safe_dump(value), encoding="utf-8", errors="surrogateescape")
            data = folder / "numbers.csv"
            data.symlink_to(original.outside / "secret.txt") if linked else data.write_text("1,2")
            exam = ("--evaluators", "strict.py:Strict", "--max-rounds", "3", "--out", "out", "--json")
            arguments = {
                "run": ("run", "strange", "--agent", "counter.py:Counter", *exam),
                "suite": ("suite", "strange", "--agent", "example:careful", *exam),
                "check": ("cases", "check", "strange"),
            }[command]
            said(*arguments, cwd=place, allowed=(place / "out",))
            assert original.untouched(), "something outside changed"  # type: ignore[operator]
            assert not any(SECRET.encode() in each.read_bytes() for each in _files(place / "out")), "a secret was read"
            with contextlib.suppress(JournalError):
                assert all((record.low or 0.0) <= 0.75 for record in read_records(place / "out"))
        except UnicodeEncodeError:
            pass
        finally:
            for left in (folder, place / "out"):
                shutil.rmtree(left, ignore_errors=True)

    each()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
