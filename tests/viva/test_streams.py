"""What Viva promises where the reader of its output leaves before the end: `| head`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.reports.made import write_run
from tests.viva.viva_command import VIVA, clean_environment
from tests.warm.typed import typed_programs
from viva.journal.writer import Journal

Piped = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The command `viva`, for a shell."""
    file = tmp_path_factory.mktemp("bin") / "viva"
    with typed_programs(VIVA) as programs:
        file.write_text(programs["viva"])
        file.chmod(0o755)
        yield file


@pytest.fixture
def piped(program: Path) -> Piped:
    """Runs viva into a reader that leaves after some lines; gives viva's own exit code, and what it wrote to stderr."""

    def run(desk: Desk, *arguments: str | Path, errors_too: bool = False, lines: int = 0) -> tuple[int, str]:
        call = " ".join(f"'{each}'" for each in (program, *arguments))
        to = f"{'2>&1' if errors_too else ''} | head -n {lines} > /dev/null; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", f"{call} {to}"],
            cwd=desk.folder,
            env=clean_environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        return done.returncode, done.stderr

    return run


@pytest.fixture
def long(desk: Desk) -> Desk:
    """A journal whose reports are longer than a pipe takes."""
    with Journal(desk.folder / "journal") as journal:
        for number in range(60):
            write_run(journal, f"case {number}", said=["word " * 800] * 3)
    return desk


@pytest.mark.parametrize(
    ("lines", "arguments"),
    [
        (1, ("replay", "journal")),
        (1, ("replay", "journal", "--json")),
        (0, ("report", "journal")),
        (1, ("report", "journal", "--out", "-", "--format", "json")),
        (1, ("report", "journal", "--out", "/dev/stdout", "--format", "html")),
        (0, ("report", "journal", "--format", "training")),
        (0, ("history", "journal")),
        (0, ("history", "journal", "--json")),
        (0, ("compare", "journal", "journal")),
        (0, ("cases",)),
        (0, ("cases", "--json")),
        (0, ("cases", "check", "echo")),
        (1, ("doctor",)),
        (0, ("--help",)),
        (0, ("--version",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_reader_that_leaves_early_is_no_fault(
    long: Desk, piped: Piped, lines: int, arguments: tuple[str, ...]
) -> None:
    expected = long.viva(*arguments).returncode if arguments[0] == "doctor" else 0
    assert piped(long, *arguments, lines=lines) == (expected, "")


@pytest.mark.parametrize("errors_too", [False, True])
def test_a_reader_that_leaves_neither_ends_a_suite_nor_turns_its_gate(
    desk: Desk, piped: Piped, errors_too: bool
) -> None:
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


@pytest.mark.parametrize(("floor", "expected"), [("1", 1), ("0.5", 0)])
@pytest.mark.parametrize("kind", ["console", "json", "csv", "junit", "markdown", "html", "training"])
def test_a_reader_that_leaves_does_not_turn_the_gate_of_a_report(
    desk: Desk, piped: Piped, kind: str, floor: str, expected: int
) -> None:
    with Journal(desk.folder / "journal") as journal:
        for number in range(60):
            write_run(journal, f"case {number}", said=["word " * 800] * 3, hits=[number % 4 > 0])
    report = ("report", "journal", "--format", kind, "--out", "-", "--fail-under", floor)
    code, told = piped(desk, *report, lines=1)
    assert (code, "low bound" in told) == (expected, bool(expected))


def test_a_reader_that_leaves_does_not_hide_what_a_report_could_not_read(long: Desk, piped: Piped) -> None:
    (long.folder / "unread").mkdir()
    (long.folder / "unread" / "journal.jsonl").write_text("torn\n")
    report = ("report", "journal", "unread", "--format", "training", "--out", "-")
    code, told = piped(long, *report, lines=1)
    assert code == 3
    assert "no line of the journal" in told


def test_a_reader_that_left_is_no_reason_to_go_on_computing(long: Desk, piped: Piped) -> None:
    (long.folder / "slow.py").write_text(
        "def write(journals, out):\n"
        "    for number in range(1_000_000):\n"
        "        out.write('x' * 1000 + chr(10))\n"
        "        open('written', 'w').write(str(number))\n"
    )
    assert piped(long, "report", "journal", "--format", "slow.py:write", lines=1) == (0, "")
    assert int((long.folder / "written").read_text()) < 10_000


@pytest.mark.parametrize("options", [(), ("--json",), ("--failed", "--threshold", "1")], ids=" ".join)
def test_a_replay_that_nobody_reads_any_more_reads_no_further(
    desk: Desk, piped: Piped, options: tuple[str, ...]
) -> None:
    with Journal(desk.folder / "journal") as journal:
        for number in range(60):
            write_run(journal, f"case {number}", said=["word " * 800] * 3, hits=[False])
    with (desk.folder / "journal" / "journal.jsonl").open("a") as file:
        file.write("torn\n")
    assert "1 torn line skipped" in desk.viva("replay", "journal", *options, expect=0).stderr
    assert piped(desk, "replay", "journal", *options, lines=1) == (0, "")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("cases", "--json")], ids=" ".join)
def test_a_full_disk_behind_standard_output_is_told_without_a_traceback(desk: Desk, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = desk.viva(*arguments, stdout=full, expect=3)
    assert "No space left" in done.stderr


def test_an_exam_runs_where_standard_output_is_closed(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): print('thinking'); return 'no'")
    # Of an interpreter that starts without them: this one is fresh.
    call = f"'{VIVA}' run echo --agent {agent} --sandbox process --out journal"
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["bash", "-c", f"{call} {closed}"], cwd=desk.folder, env=clean_environment(), timeout=120)
        assert done.returncode == 0
    assert desk.kinds().count("run") == 3
    lines = (desk.folder / "journal" / "journal.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines), "nothing was printed between them"
    assert not [line for line in lines if "thinking" in line and '"stdout":"thinking\\n"' not in line]
