"""The examples of programs pass bundled cases, by the commands on their page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.viva.conftest import Desk

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = "examples/agents/commands"


@pytest.fixture
def desk() -> Desk:
    """Paths in a command are relative to the current folder, which is that of a checkout."""
    return Desk(ROOT)


def run(desk: Desk, tmp_path: Path, case: str, spec: str, **options: Any) -> dict[str, Any]:
    return desk.run(case, "--agent", spec, out=str(tmp_path / "journal"), **options)


@pytest.mark.parametrize(
    ("case", "spec"),
    [
        ("sum_1_to_50", f"cmd:python3 {PROGRAMS}/adder.py"),
        ("echo", f"cmd:bash {PROGRAMS}/parrot.sh"),
        ("echo", f"{PROGRAMS}/talker.yaml"),
        ("echo", f"cmd+plain:bash {PROGRAMS}/talker.sh"),
    ],
)
def test_the_examples_pass_a_bundled_case(desk: Desk, tmp_path: Path, case: str, spec: str) -> None:
    record = run(desk, tmp_path, case, spec)
    assert (record["score"], record["outcome"]) == (1.0, "scored")


def test_the_node_example_passes_a_case_with_files_in_a_process_of_its_own(desk: Desk, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        missing("agents", "install nodejs")
    record = run(desk, tmp_path, "same_number_in_two_files", f"cmd:node {PROGRAMS}/two_files.js", process=True)
    assert record["score"] == 1.0
    shown = desk.viva("replay", tmp_path / "journal", expect=0).stdout
    assert "write({'file': 'a.txt'" in shown


def test_examples_are_short() -> None:
    for file in (ROOT / PROGRAMS).iterdir():
        assert len(file.read_text().splitlines()) <= 15, file
