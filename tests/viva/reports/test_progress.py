"""Progress tells how far a suite is and how each agent does; no figure is cut and no agents are averaged."""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import termios
from fcntl import ioctl

import pytest
from rich.console import Console

from tests.viva.conftest import Desk, point
from tests.viva.reports.made import HOSTILE
from tests.viva.viva_command import clean_environment, start_viva
from viva.exam.subscribers import RunHeader
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Round, Transcript, Usage
from viva.reports.progress import reporter as progress
from viva.reports.progress.picture import ProgressPicture
from viva.reports.progress.reporter import ConsoleDisplay
from viva.reports.progress.state import Progress, duration

FAULTS = (Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR, Outcome.TARGET_ERROR)
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def header(number: int, agent: str = "x:Careful", subject: str = "exam", **more: int | str | None) -> RunHeader:
    return RunHeader(id=f"run-{number}", subject=subject, agent=agent, max_rounds=5, **more)  # type: ignore[arg-type]


def record(run: RunHeader, score: float | None, outcome: Outcome = Outcome.SCORED) -> RunRecord:
    usage = {"target": Usage(800, 200, calls=1, cost=0.01)}
    return RunRecord(run.id, run.subject, run.agent, outcome, score, low=score, high=score, usage=usage)


def suite(agents: dict[str, float], running: int = 3, faults: int = 1) -> Progress:
    """500 runs: five of each agent have ended, some with each fault, and some are running."""
    found = Progress(500, done_before=7)
    number = 0
    for agent, score in agents.items():
        for _ in range(5):
            number += 1
            found.start(header(number, agent))
            found.end(header(number, agent), record(header(number, agent), score))
        for outcome in FAULTS * faults:
            number += 1
            found.end(header(number, agent), record(header(number, agent), None, outcome))
    for number in range(1000, 1000 + running):
        found.start(header(number, next(iter(agents)), f"case {number}", trial=2))
        found.round(header(number), 3)
    found.began -= 60
    return found


def drawn(progress: Progress, width: int = 80, height: int = 24) -> str:
    out = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    out.print(ProgressPicture(progress, out))
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert len(lines) < height or height == 1, "the terminal would scroll"
    assert all(out.measure(line).maximum <= width for line in lines)
    return out.file.getvalue()


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 140])
def test_every_figure_is_there_at_any_width(width: int) -> None:
    text = folded(drawn(suite({"x:Careful": 1.0, "x:Hasty": 0.25}), width))
    for words in ("18 of 500 runs done", "7 already finished", "18,000 tokens, $0.1800", "1 min 00 s"):
        assert words in text
    for kind in FAULTS:
        assert f"2 {kind.value}" in text
    assert "about 26 min 47 s left" in text
    assert re.search(r"Careful 9 (1\.00|0\.83) ", text), "of the agent, with its failure"
    assert re.search(r"Hasty 9 0\.21 ", text)
    assert re.search(r"case 1000, trial 2 Careful round 3 of 5 0 s", text)


def test_several_agents_are_never_averaged_and_one_is() -> None:
    both = suite({"x:Careful": 1.0, "x:Hasty": 0.5}, faults=0)
    for text in (drawn(both), both.line()):
        assert "0.75" not in text
        assert re.search(r"Careful .*1\.00", text)
        assert re.search(r"Hasty .*0\.50", text)
    assert "mean" not in both.line()
    assert "mean score 0.500" in suite({"x:Hasty": 0.5}, faults=0).line()


def test_a_line_of_many_agents_stays_a_line() -> None:
    agents = {f"x:Agent{number}": 0.5 for number in range(40)}
    line = suite(agents).line()
    assert "Agent5 0.417" in line
    assert "34 more agents" in line
    assert "Agent6" not in line


@pytest.mark.parametrize(
    ("width", "height"), [(140, 50), (80, 24), (80, 8), (45, 14), (24, 8), (16, 4), (9, 2), (3, 1)]
)
def test_on_a_small_terminal_the_runs_go_first_and_the_figures_last(width: int, height: int) -> None:
    many = suite({f"x:Agent{number}": 0.5 for number in range(20)}, running=300)
    text = folded(drawn(many, width, height))
    if width >= 9 and height >= 4:
        assert "of 500 runs done" in text
    if width >= 24 and height >= 8:
        assert "$1.8000" in text
        assert "left" in text
        assert "Agent0" in text, "before any run"


def test_hidden_agents_and_runs_are_counted() -> None:
    text = folded(drawn(suite({f"x:Agent{number}": 0.5 for number in range(20)}, running=300), 80, 60))
    assert "and 10 more agents" in text
    assert "and 290 more" in text


@pytest.mark.parametrize("width", [30, 80, 140])
def test_hostile_names_drive_nothing_and_push_no_figure_aside(width: int) -> None:
    found = Progress(len(HOSTILE) * 2)
    for number, text in enumerate(HOSTILE):
        run = header(number, f"x:{text}", text * 20, node=text * 20)
        found.start(run)
        found.end(run, record(run, 0.5))
        found.start(header(1000 + number, f"x:{text}", text * 20, node=text * 20))
    text = drawn(found, width, 60)
    assert not FORBIDDEN.findall(text)
    assert text.count("0.50") == 10
    assert text.count("starting") == 10
    assert not FORBIDDEN.findall(found.line())


def test_a_node_is_named_where_there_is_a_cluster() -> None:
    found = suite({"x:Careful": 1.0}, running=1)
    assert "node" not in drawn(found)
    found.start(header(5, node="worker-7"))
    assert re.search(r"exam +Careful +worker-7 +starting", drawn(found))


def test_a_run_without_rounds_to_conduct_is_judged_and_a_further_attempt_is_told() -> None:
    found = Progress(2)
    found.start(RunHeader(id="a", subject="exam", agent="x:A", attempt=2))
    assert re.search(r"exam, attempt 2 +A +judging", drawn(found))


def test_a_note_above_the_picture_does_not_cut_its_figures() -> None:
    out = Console(file=io.StringIO(), width=60, height=30)
    picture = ProgressPicture(suite({"x:Careful": 1.0}), out)
    # A live display draws with the options of what is printed above it.
    out.print(picture, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    assert isinstance(out.file, io.StringIO)
    assert max(len(line) for line in out.file.getvalue().splitlines()) <= 60


def test_lines_that_a_narrower_terminal_has_wrapped_are_taken_away() -> None:
    out = Console(file=io.StringIO(), width=100, height=30, force_terminal=True, color_system=None)
    picture = ProgressPicture(suite({"x:Careful": 1.0}), out)
    out.print(picture)
    assert isinstance(out.file, io.StringIO)
    out.file.truncate(0)
    assert picture.refreshed() is picture
    assert "\x1b[1A" not in out.file.getvalue(), "nothing has changed"
    out.width = 40
    picture.refreshed()
    longer = sum((width - 1) // 40 for width in picture._drawn)
    assert longer
    assert out.file.getvalue().count("\x1b[1A\x1b[2K") == longer


async def test_a_display_can_be_used_for_one_suite_after_the_other() -> None:
    """`viva trace --follow` does."""
    display = ConsoleDisplay(Console(file=io.StringIO()))
    for _ in range(3):
        with display.begin(1, 4):
            run = header(1)
            await display.on_start(run)
            await display.on_end(run, record(run, 0.5), Transcript())
            assert display.line().startswith("1/1 run, mean score 0.500, 4 already finished, 1,000 tokens")


async def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO()
    display = ConsoleDisplay(Console(file=out, force_terminal=True))
    with display.begin(9, 0):
        await display.on_start(header(1))
        await display.on_round(header(1), Round(1, "a", "b"))
    assert "0/9 runs, 0 s" in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (250, "4 min 10 s"), (3900, "1 h 05 min"), (4e5, "111 h 06 min")],
)
def test_durations_are_read_at_a_glance(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize("command", ["suite", "judge"])
def test_on_a_real_terminal_the_figures_of_each_agent_are_shown(desk: Desk, command: str) -> None:
    """A bar without an end of line once pushed all figures beyond the right edge."""
    for name in ("Good", "Bad"):
        (desk.folder / f"{name.lower()}.py").write_text(WAITS.format(name))
    agents = ("--agent", "good.py:Good", "--agent", "bad.py:Bad")
    common = ("--sandbox", "process", "--concurrency", "1")
    if command == "suite":
        line = r"exam.*Bad.*round 1 of 15"
        suite = ("suite", desk.case(script=["a", "b"]), *agents, "--trials", "2", *common)
        seen = on_a_terminal(desk, line, *suite)
        assert "of 4 runs done" in seen
        assert "score so far" in seen
    else:
        line = r"exam.*Good.*judging"
        (desk.folder / "seen").touch()
        waits = point(CHECK.format(seen=str(desk.folder / "seen")))
        desk.viva("suite", desk.case(scoring_points=[waits]), *agents, *common, "--out", "journal", expect=0)
        (desk.folder / "seen").unlink()
        seen = on_a_terminal(desk, line, "judge", "journal", *common)
        assert "of 2 runs done" in seen
    assert re.search(line, seen)


WAITS = """\
import time
from pathlib import Path

def wait():
    never = time.monotonic() + 60
    while not Path("seen").exists() and time.monotonic() < never:
        time.sleep(0.01)

class {0}:
    def __init__(self, *_): pass
    def close(self): pass
    def get_reply_from_agent(self, message):
        if "{0}" == "Bad" and message == "b":
            wait()
        return "x"
"""
CHECK = "import os, time\nwhile not os.path.exists({seen!r}):\n    time.sleep(0.01)"


def on_a_terminal(desk: Desk, awaited: str, *arguments: str) -> str:
    """Run the installed script on a terminal of 80 columns; give what it wrote, without control codes.

    There is a file `seen` as soon as it has written a line of this pattern.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**clean_environment(), "TERM": "xterm-256color"}
    process = start_viva(*arguments, cwd=desk.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        seen += part
        if re.search(awaited, plain(seen)):
            (desk.folder / "seen").touch()
    os.close(ours)
    assert process.wait(timeout=60) in (0, 1)
    return plain(seen)


def plain(written: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode(errors="replace"))


def test_a_plain_line_says_how_many_runs_are_on_each_node() -> None:
    found = Progress(20)
    for number in range(12):
        found.start(header(number, node=f"worker-{number % 8}"))
    line = found.line()
    assert "2 on worker-0, 2 on worker-1" in line
    assert "1 on worker-5, others on 2 more nodes" in line
