"""What the path of one exam promises: what is kept, in which order, and what an agent meets on the way."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import scan

SPEAKS = "def get_reply_from_agent(self, message): return 'Hello.'"
LEAVES_A_TRACE = """
    def __init__(self, task_description, app_dir=None, config_var=None):
        (Path(__file__).parent / "constructed").touch()
    def get_reply_from_agent(self, message): return "Hello."
"""


@pytest.mark.parametrize("through_a_link", [False, True])
def test_the_journal_holds_setting_rounds_transcript_insight_and_run_in_this_order(
    desk: Desk, through_a_link: bool
) -> None:
    # A relative --out, or a link: the agent's folder under another name is no reason for a second setting.
    if through_a_link:
        (desk.folder / "real").mkdir()
        (desk.folder / "journal").symlink_to("real")
    record = desk.run("same_number_in_two_files")
    assert desk.kinds() == ["setting", "round", "round", "round", "transcript", "insight", "run"]
    events = list(scan(desk.folder / "journal"))
    assert {event.run for event in events} == {record["id"]}
    assert [event.data["number"] for event in events if event.kind == "round"] == [1, 2, 3]


def test_a_round_is_in_the_journal_before_the_next_message(desk: Desk) -> None:
    agent = desk.agent(
        """
        def get_reply_from_agent(self, message):
            lines = (Path(__file__).parent / "journal" / "journal.jsonl").read_text()
            return str(lines.count('"event":"round"'))
        """
    )
    case = desk.case(script=[{"for": "n in 1..5", "say": "{n}"}])
    desk.run(case, "--agent", agent)
    (stored,) = read_runs(desk.folder / "journal")
    assert [round_.agent for round_ in stored.transcript.rounds] == ["0", "1", "2", "3", "4"]


def test_the_agents_files_stay_in_a_workspace_beside_the_journal(desk: Desk) -> None:
    record = desk.run("same_number_in_two_files")
    workspace = desk.folder / "journal" / record["setting"]["workspace"]
    assert not Path(record["setting"]["workspace"]).is_absolute(), "a journal that is moved keeps its workspace"
    assert (workspace / "a.txt").read_text() == (workspace / "b.txt").read_text()


def test_an_agent_that_leaves_nothing_leaves_no_folder_and_is_not_judged_by_an_earlier_attempts_files(
    desk: Desk,
) -> None:
    case = desk.case(scoring_points=[point("assert open('answer.txt').read() == '42'")])
    writes = """
        def get_reply_from_agent(self, message):
            if not (Path(__file__).parent / "silent").exists():
                (self.workspace / "answer.txt").write_text("42")
            return "Done."
        """
    first = desk.run(case, "--agent", desk.agent(writes))
    (desk.folder / "silent").touch()
    second = desk.run(case, "--agent", "agent.py:Agent")
    assert (first["score"], second["score"], second["attempt"]) == (1.0, 0.0, 2)
    workspace = Path(second["setting"]["workspace"]).name
    assert [folder.name for folder in (desk.folder / "journal" / "workspaces").iterdir()] == [f"{workspace}.1"]


def test_data_files_come_after_construction_and_before_the_first_message(desk: Desk) -> None:
    case = desk.case(data={"numbers.csv": "1\n"}, data_files=["numbers.csv"])
    agent = desk.agent(
        """
        def __init__(self, task_description, workspace):
            self.at_first = os.listdir(workspace)
        def get_reply_from_agent(self, message):
            return f"{self.at_first} {os.listdir(self.workspace)}"
        """
    )
    desk.run(case, "--agent", agent)
    (stored,) = read_runs(desk.folder / "journal")
    assert stored.transcript.rounds[0].agent == "[] ['numbers.csv']"


def test_an_adapter_may_have_a_workspace_of_its_own(desk: Desk) -> None:
    check = "assert open('answer.txt').read() == open('numbers.csv').read() == '1\\n'"
    case = desk.case(data={"numbers.csv": "1\n"}, data_files=["numbers.csv"], scoring_points=[point(check)])
    agent = desk.agent(
        """
        def __init__(self, task_description, app_dir=None, config_var=None):
            self.workspace = Path(__file__).parent / "session" / "cwd"
        def get_reply_from_agent(self, message):
            (self.workspace / "answer.txt").write_text((self.workspace / "numbers.csv").read_text())
            return "Done."
        """
    )
    assert desk.run(case, "--agent", agent)["score"] == 1
    (stored,) = read_runs(desk.folder / "journal")
    # Copied into the journal, which needs no other folder from then on.
    assert stored.setting.workspace == f"workspaces/{stored.id}"
    shutil.rmtree(desk.folder / "session")
    desk.viva("judge", "journal", "--sandbox", "process", "--fail-under", "1", expect=0)


@pytest.mark.parametrize(
    ("of_case", "arguments", "rounds"),
    [(None, (), 15), (4, (), 4), (4, ("--max-rounds", "2"), 2), (None, ("--max-rounds", "17"), 17)],
)
def test_max_rounds_is_the_command_lines_else_the_cases_else_15(
    desk: Desk, of_case: int | None, arguments: tuple[str, ...], rounds: int
) -> None:
    case = desk.case(script=[{"for": "n in 1..20", "say": "{n}"}], max_rounds=of_case)
    record = desk.run(case, "--agent", desk.agent(SPEAKS), *arguments)
    assert (record["rounds"], record["stop"], record["setting"]["max_rounds"]) == (rounds, "max_rounds", rounds)


def test_the_end_of_the_script_is_not_a_round(desk: Desk) -> None:
    case = desk.case(script=[{"for": "n in 1..15", "say": "{n}"}])
    record = desk.run(case, "--agent", desk.agent(SPEAKS))
    assert (record["rounds"], record["stop"]) == (15, "finished")


def test_a_pre_command_is_refused_without_leave(desk: Desk) -> None:
    case = desk.case(pre_command=["touch ran"])
    done = desk.viva("run", case, "--agent", desk.agent(LEAVES_A_TRACE), "--out", "journal", expect=2)
    assert "touch ran" in done.stderr
    assert "--allow-pre-command" in done.stderr
    assert {path.name for path in desk.folder.iterdir()} - {"__pycache__"} == {"agent.py", "exam"}


def test_a_pre_command_runs_with_leave_before_the_agent_is_made(desk: Desk) -> None:
    case = desk.case(pre_command=["touch ran", "printf '\\377' >> ran"])
    agent = desk.agent(
        """
        def __init__(self, task_description):
            self.seen = Path("ran").read_bytes() == b"\\xff"
        def get_reply_from_agent(self, message): return str(self.seen)
        """
    )
    desk.run(case, "--agent", agent, "--allow-pre-command")
    (stored,) = read_runs(desk.folder / "journal")
    assert stored.transcript.rounds[0].agent == "True"


def test_a_pre_command_that_fails_is_named(desk: Desk) -> None:
    case = desk.case(pre_command=["printf 'no \\377 disk' >&2; exit 7"])
    arguments = ("--agent", desk.agent(LEAVES_A_TRACE), "--allow-pre-command", "--sandbox", "process")
    # As in a suite: this exam cannot take place, which says nothing about the agent.
    done = desk.viva("run", case, *arguments, "--out", "journal", expect=3)
    (record,) = read_records(desk.folder / "journal")
    assert record.outcome == "infra_error"
    for words in (record.error or "", done.stderr):
        assert "exit 7" in words
        assert "code 7" in words
        assert "no" in words
    assert not (desk.folder / "constructed").exists()


def test_app_dir_of_the_command_line_replaces_the_cases(desk: Desk) -> None:
    case = desk.case(app_dir="of-the-case", config_var={"a": [1]})
    agent = desk.agent("def get_reply_from_agent(self, message): return f'{self.app_dir} {self.config_var}'")
    desk.run(case, "--agent", agent, out="one")
    desk.run(case, "--agent", agent, "--app-dir", "mine", out="two")
    replies = [next(read_runs(desk.folder / name)).transcript.rounds[0].agent for name in ("one", "two")]
    assert replies == ["of-the-case {'a': [1]}", "mine {'a': [1]}"]


@pytest.mark.parametrize(
    ("fields", "named", "option"),
    [
        ({"script": None}, "no script", " --model"),
        ({"scoring_points": [point(None)]}, "eval_code", " --judge-model"),
        ({"script": None, "scoring_points": [point(None)]}, "no script", " --model"),
    ],
)
def test_what_a_case_needs_is_said_before_the_first_message(
    desk: Desk, fields: dict[str, object], named: str, option: str
) -> None:
    case = desk.case(**fields)
    assert "Requires" in desk.viva("cases", "check", case, expect=0).stdout
    done = desk.viva("run", case, "--agent", desk.agent(LEAVES_A_TRACE), expect=2)
    assert named in done.stderr
    assert option in done.stderr
    assert not (desk.folder / "constructed").exists(), "the agent was constructed"
    assert not (desk.folder / "runs").exists(), "a mistake leaves no journal for `viva replay` to find"


def test_another_run_into_the_same_folder_is_the_next_attempt(desk: Desk) -> None:
    first = desk.run("same_number_in_two_files")
    before = (desk.folder / "journal" / "journal.jsonl").read_bytes()
    number = (desk.folder / "journal" / first["setting"]["workspace"] / "a.txt").read_text()
    second = desk.run("same_number_in_two_files")
    assert second["attempt"] == 2
    assert (desk.folder / "journal" / "journal.jsonl").read_bytes().startswith(before)
    kept = [path.read_text() for path in (desk.folder / "journal").rglob("a.txt")]
    assert len(kept) == 2, "what the first attempt left is moved aside, not mixed in"
    assert number in kept


def test_a_run_into_the_folder_of_a_suite_is_refused_and_changes_nothing(desk: Desk) -> None:
    desk.viva("suite", "echo", "--agent", "example:careful", "--sandbox", "process", "--out", "journal", expect=0)
    before = {path: path.read_bytes() for path in (desk.folder / "journal").rglob("*") if path.is_file()}
    done = desk.viva("run", "echo", "--agent", "example:forgetful", "--out", "journal", expect=2)
    assert "already contains the journal of a suite" in done.stderr
    assert "viva suite --resume journal" in done.stderr
    assert {path: path.read_bytes() for path in (desk.folder / "journal").rglob("*") if path.is_file()} == before


def test_what_agents_print_does_not_get_into_the_one_json_object(desk: Desk) -> None:
    agent = desk.agent(
        """
        def get_reply_from_agent(self, message):
            print("from the agent")
            os.system("echo from its child")
            os.write(1, b"from below")
            sys.stdout.close()
            return "Hello."
        """
    )
    arguments = ("run", desk.case(), "--agent", agent, "--sandbox", "process")
    done = desk.viva(*arguments, "--json", "--out", "journal", expect=0, process=True)
    said = json.loads(done.stdout)
    assert said["journal"] == "journal"
    assert said["run"]["outcome"] == "scored"
    assert "from the agent" in done.stderr
    assert desk.viva(*arguments, "--quiet", expect=0, process=True).stdout == "exam scored 1/1 = 1.00\n"
    for several in (
        ("suite", "exam", "--agent", agent, "--sandbox", "process", "--out", "suite"),
        ("replay", "journal", "--against", agent, "--sandbox", "process", "--out", "against"),
    ):
        assert json.loads(desk.viva(*several, "--json", expect=0, process=True).stdout)["journal"] == several[-1]


def test_an_agent_that_changes_the_working_directory_takes_nothing_with_it(desk: Desk) -> None:
    agent = desk.agent(
        """
        def __init__(self, task_description, workspace):
            elsewhere = workspace / "elsewhere"
            elsewhere.mkdir()
            os.chdir(elsewhere)
        def get_reply_from_agent(self, message):
            (self.workspace / "left.txt").touch()
            return "x" * 400_000
        def close(self): os.rmdir(os.getcwd())
        """
    )
    check = "import os; assert os.listdir() == ['left.txt'] and len(rounds[0]['agent']) == 400_000"
    record = desk.run(desk.case(scoring_points=[point(check)]), "--agent", agent, process=True)
    assert record["score"] == 1
    desk.viva("judge", "journal", "--sandbox", "process", "--fail-under", "1", expect=0)


@pytest.mark.parametrize("when", ["def __init__(self, task_description)", "async def close(self)"])
@pytest.mark.parametrize("command", ["suite", "replay", "suite --resume"])
def test_a_report_is_found_whatever_folder_an_agent_leaves_viva_in(desk: Desk, when: str, command: str) -> None:
    agent = desk.agent(
        f"{when}:\n    os.chdir('/proc/self/fd')\nasync def get_reply_from_agent(self, m): return 'Hello.'"
    )
    desk.case()
    first = ("suite", "exam", "--agent", agent, "--sandbox", "process")
    done = desk.viva(*first, "--json", "--sink", "jsonl:all.jsonl", expect=0, process=True)
    (journal,) = (desk.folder / "runs").iterdir()
    if command == "replay":
        again = ("replay", journal, "--against", agent, "--sandbox", "process", "--out", "against", "--json")
        done = desk.viva(*again, expect=0, process=True)
    elif command == "suite --resume":
        done = desk.viva(
            "suite", "--resume", journal.relative_to(desk.folder), "--fresh", "--json", expect=0, process=True
        )
    assert json.loads(done.stdout)["journal"]
    assert (desk.folder / "all.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("plain", ["def", "async def"])
@pytest.mark.parametrize("ending", ["sys.exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit", "return None"])
def test_an_agent_cannot_end_the_exam_in_its_favour(desk: Desk, plain: str, ending: str) -> None:
    agent = desk.agent(f"{plain} get_reply_from_agent(self, message): {ending}")
    record = desk.run("echo", "--agent", agent, process=True)
    assert (record["outcome"], record["score"]) == ("target_error", 0.0)


def test_an_agent_that_can_never_be_constructed_is_a_mistake_of_the_set_up(desk: Desk) -> None:
    agent = desk.agent("def __init__(self, task_description): raise OSError('no licence')\n" + SPEAKS)
    done = desk.viva("run", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal", expect=2)
    assert "no licence" in done.stderr
    assert "environment variables" in done.stderr


def test_a_hung_agent_is_cut_off_and_counts(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): time.sleep(3600)")
    record = desk.run("echo", "--agent", agent, "--reply-timeout", "0.2", process=True)
    assert (record["outcome"], record["stop"], record["score"]) == ("target_error", "timeout", 0.0)


@pytest.mark.parametrize(
    ("given", "seconds"), [("90", 90.0), ("0.5", 0.5), ("90s", 90.0), ("5m", 300.0), ("1h", 3600.0), ("1h30m", 5400.0)]
)
def test_a_duration_may_have_units(desk: Desk, given: str, seconds: float) -> None:
    desk.run("echo", "--timeout", given)
    (setting,) = [event.data for event in scan(desk.folder / "journal") if event.kind == "setting"]
    assert setting["run_seconds"] == seconds


def test_a_quiet_run_says_why_it_failed(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): raise ValueError('no words')")
    done = desk.viva("run", "echo", "--agent", agent, "--quiet", "--fail-under", "0.5", "--out", "journal", expect=1)
    assert done.stdout.splitlines() == ["echo target_error 0/2 = 0.00"]
    assert "ValueError: no words" in done.stderr
    assert "0.5" in done.stderr.splitlines()[-1]


def test_who_was_examined_and_a_weak_sandbox_are_named(desk: Desk) -> None:
    done = desk.viva("run", "echo", "--sandbox", "process", "--out", "journal", expect=0)
    assert "bundled careful agent" in done.stderr
    assert "does NOT isolate" in done.stdout
    (stored,) = read_runs(desk.folder / "journal")
    assert (stored.setting.sandbox, stored.setting.sandbox_isolates) == ("process", False)


def test_two_runs_at_once_in_one_folder_do_not_meet(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return message")
    case = desk.case(script=[{"for": "n in 1..15", "say": "{n}"}])
    started = [desk.start("run", case, "--agent", agent, "--sandbox", "process", "--quiet") for _ in range(2)]
    for process in started:
        said, errors = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "exam scored 1/1 = 1.00\n"), errors
    journals = list((desk.folder / "runs").iterdir())
    assert len(journals) == 2
    assert [len(next(read_runs(journal)).transcript.rounds) for journal in journals] == [15, 15]


def test_a_second_writer_of_the_same_journal_is_told_to_wait(desk: Desk) -> None:
    agent = desk.agent(
        """
        def get_reply_from_agent(self, message):
            Path("talking").touch()
            while not Path("go-on").exists():
                time.sleep(0.01)
            return message
        """
    )
    case = desk.case()
    first = desk.start("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal", "--quiet")
    while not (desk.folder / "talking").exists():
        assert first.poll() is None, first.communicate()
    second = desk.viva("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=2)
    (desk.folder / "go-on").touch()
    assert "another viva" in second.stderr
    said, errors = first.communicate(timeout=60)
    assert (first.returncode, said) == (0, "exam scored 1/1 = 1.00\n"), errors
    assert desk.kinds() == ["setting", "round", "transcript", "insight", "run"]


# --- a disk that is full -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _file_limit(folder: Path) -> Iterator[Callable[[], None]]:
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


@contextlib.contextmanager
def _tiny_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield None
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("full", [_file_limit, _tiny_disk])
def test_a_full_disk_is_told_plainly_and_the_rounds_so_far_can_be_read(
    desk: Desk, full: Callable[[Path], contextlib.AbstractContextManager[Callable[[], None] | None]]
) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'x' * 5_000")
    case = desk.case(script=[{"for": "n in 1..50", "say": "{n}"}], max_rounds=50)
    with full(desk.folder / "journal") as limit:
        arguments = ("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal")
        done = desk.viva(*arguments, preexec_fn=limit)
        assert done.returncode in (2, 3)
        assert "journal" in done.stderr
        assert len(done.stderr.splitlines()) <= 3
        (stored,) = read_runs(desk.folder / "journal")
        assert not stored.ended
        assert 3 <= len(stored.transcript.rounds) < 50
        assert all(round_.agent == "x" * 5_000 for round_ in stored.transcript.rounds)
        assert "did not end" in desk.viva("replay", "journal", expect=0).stdout


def test_a_full_disk_behind_stdout_is_told_plainly(desk: Desk) -> None:
    with Path("/dev/full").open("w") as full:
        done = desk.viva("run", "echo", "--sandbox", "process", "--out", "journal", stdout=full, expect=3)
    assert "No space left" in done.stderr
    assert desk.kinds()[-1] == "run", "the exam itself is kept"
