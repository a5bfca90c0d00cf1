"""What Viva promises where the reader of its output leaves before the end: `| head`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from records.journal import Journal
from tests.harness.conftest import Desk
from tests.harness.reports.made import write_run
from tests.harness.viva_command import VIVA, clean_environment


def piped(desk: Desk, *arguments: str | Path, errors_too: bool = False, lines: int = 0) -> tuple[int, str]:
    """Run viva into a reader that leaves after some lines; give viva's own exit code, and what it wrote to stderr."""
    call = " ".join(f"'{each}'" for each in (VIVA, *arguments))
    done = subprocess.run(
        ["bash", "-c", f"{call} {'2>&1' if errors_too else ''} | head -n {lines} > /dev/null; exit ${{PIPESTATUS[0]}}"],
        cwd=desk.folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.returncode, done.stderr


@pytest.fixture
def long(desk: Desk) -> Desk:
    """A journal whose reports are longer than a pipe takes."""
    with Journal(desk.folder / "journal") as journal:
        for number in range(60):
            write_run(journal, f"case {number}", said=["word " * 800] * 3)
    return desk


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "journal"),
        ("replay", "journal", "--json"),
        ("report", "journal"),
        ("report", "journal", "--out", "-", "--format", "json"),
        ("report", "journal", "--out", "/dev/stdout", "--format", "html"),
        ("report", "journal", "--format", "training"),
        ("history", "journal"),
        ("history", "journal", "--json"),
        ("compare", "journal", "journal"),
        ("cases",),
        ("cases", "--json"),
        ("cases", "check", "echo"),
        ("doctor",),
        ("--help",),
        ("--version",),
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_early_is_no_fault(long: Desk, arguments: tuple[str, ...], lines: int) -> None:
    expected = long.viva(*arguments).returncode if arguments[0] == "doctor" else 0
    assert piped(long, *arguments, lines=lines) == (expected, "")


@pytest.mark.parametrize("errors_too", [False, True])
def test_a_reader_that_leaves_neither_ends_a_suite_nor_turns_its_gate(desk: Desk, errors_too: bool) -> None:
    agent = desk.agent(
        """
        def get_reply_from_agent(self, message):
            print("thinking " * 20_000, flush=True)
            return "no"
        """
    )
    case = desk.case(scoring_points=[{"score_point": "Yes.", "weight": 1, "eval_code": "assert False"}])
    suite = ("suite", case, "--agent", agent, "--trials", "3", "--sandbox", "process", "--out", "journal")
    code, _ = piped(desk, *suite, "--fail-under", "0.5", errors_too=errors_too)
    assert code == 1
    assert desk.kinds().count("run") == 3
    outcomes = desk.viva("replay", "journal", "--outcome", "scored", "--json", expect=0).stdout.splitlines()
    assert len(outcomes) == 3, "no agent failed because nobody read what it printed"


def test_a_reader_that_left_is_no_reason_to_go_on_computing(long: Desk) -> None:
    (long.folder / "slow.py").write_text(
        "def write(journals, out):\n"
        "    for number in range(1_000_000):\n"
        "        out.write('x' * 1000 + chr(10))\n"
        "        open('written', 'w').write(str(number))\n"
    )
    assert piped(long, "report", "journal", "--format", "slow.py:write", lines=1) == (0, "")
    assert int((long.folder / "written").read_text()) < 10_000
