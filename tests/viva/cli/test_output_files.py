"""What `--out` promises, whatever the path leads to; in every command that writes a file or a folder the user names."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from tests.model_server import ModelServer
from tests.viva.conftest import Desk
from tests.viva.reports.made import write_run
from tests.viva.viva_command import VIVA, clean_environment
from viva.journal.writer import Journal


@pytest.fixture
def made(desk: Desk) -> Desk:
    """A folder with a journal."""
    with Journal(desk.folder / "journal") as journal:
        for case in ("sums", "words"):
            write_run(journal, case)
    return desk


def shell(desk: Desk, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("VIVA", f"'{VIVA}'")],
        cwd=desk.folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def devices(folder: Path) -> tuple[Path, Path]:
    """A full and an empty device: nodes of the test's own where it may make them, which it may also lose."""
    made = folder / "full", folder / "null"
    try:
        for path, minor in zip(made, (7, 3), strict=True):
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
            path.open("wb").close()
    except OSError:  # not as root, in a container without the capability, or on a file system without devices
        return Path("/dev/full"), Path("/dev/null")
    return made


def test_a_device_stays_a_device_and_a_full_one_is_told(made: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    full, null = devices(tmp_path_factory.mktemp("devices"))
    before = full.stat()
    done = made.viva("report", "journal", "--format", "csv", "--out", str(full), expect=2)
    assert f"cannot write {full}: No space left on device" in " ".join(done.stderr.split())
    assert (full.stat().st_mode, full.stat().st_rdev) == (before.st_mode, before.st_rdev)
    assert stat.S_ISCHR(before.st_mode)
    made.viva("report", "journal", "--format", "csv", "--out", str(null), expect=0)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_fifo_is_written_through(made: Desk) -> None:
    fifo = made.folder / "pipe"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    made.viva("report", "journal", "--format", "json", "--out", "pipe", expect=0)
    reader.join(60)
    assert len(json.loads(read[0])["runs"]) == 2
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_fifo_without_a_reader_is_waited_for_and_this_is_told(made: Desk) -> None:
    fifo = made.folder / "pipe.csv"
    os.mkfifo(fifo)
    process = made.start("report", "journal", "--out", "pipe.csv")
    assert process.stderr is not None
    assert process.stderr.readline() == "waiting for a reader of pipe.csv\n"
    assert fifo.read_text().startswith("case_file,")
    assert process.wait(60) == 0
    process.communicate()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
def test_names_of_standard_output_are_standard_output(made: Desk, name: str) -> None:
    done = made.viva("report", "journal", "--format", "csv", "--out", name, expect=0, process=True)
    assert done.stdout.startswith("case_file,")
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr == ""
    assert "sums" in made.viva("report", "journal", "--out", name, expect=0, process=True).stdout


def test_standard_output_into_a_file_appends_where_the_shell_does(made: Desk) -> None:
    (made.folder / "all.csv").write_text("before\n")
    done = shell(made, "VIVA report journal --format csv --out /dev/stdout >> all.csv")
    assert done.returncode == 0, done.stderr
    assert (made.folder / "all.csv").read_text().startswith("before\ncase_file,")
    done = shell(made, "VIVA report journal --format csv --out /dev/fd/7 7>> all.csv")
    assert done.returncode == 0, done.stderr
    assert (made.folder / "all.csv").read_text().count("case_file,") == 2


def test_a_link_keeps_leading_to_the_file_that_is_written(made: Desk) -> None:
    (made.folder / "there").mkdir()
    target, link = made.folder / "there" / "real.csv", made.folder / "r.csv"
    link.symlink_to(target)
    made.viva("report", "journal", "--out", "r.csv", expect=0)
    assert link.is_symlink()
    assert target.read_text().startswith("case_file,"), "a dangling link leads to the new file"
    target.write_text("old")
    made.viva("report", "journal", "--out", "r.csv", expect=0)
    assert link.is_symlink()
    assert target.read_text().startswith("case_file,")
    assert sorted(path.name for path in target.parent.iterdir()) == ["real.csv"]


def test_a_replaced_file_keeps_its_permissions_and_a_name_may_be_long(made: Desk) -> None:
    private = made.folder / f"{'n' * 251}.csv"
    private.touch(0o600)
    made.viva("report", "journal", "--out", private.name, expect=0)
    assert private.read_text().startswith("case_file,")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("folder.csv", "folder.csv' is a directory"),
        ("to-folder.csv", "to-folder.csv' is a directory"),
        ("/proc/r.csv", "cannot write /proc/r.csv"),
        ("dangling.csv", "cannot write dangling.csv: No such file or directory"),
        ("circle.csv", "cannot write circle.csv: Too many levels of symbolic links"),
        ("socket", "cannot write socket: No such device or address"),
    ],
)
def test_what_cannot_be_written_is_told_and_left_alone(made: Desk, out: str, words: str) -> None:
    (made.folder / "folder.csv").mkdir()
    (made.folder / "to-folder.csv").symlink_to("folder.csv")
    (made.folder / "dangling.csv").symlink_to("no/such/folder.csv")
    (made.folder / "circle.csv").symlink_to("circle.csv")
    os.mknod(made.folder / "socket", stat.S_IFSOCK | 0o600)
    before = sorted(os.listdir(made.folder))
    done = made.viva("report", "journal", "--format", "csv", "--out", out, expect=2)
    assert words in " ".join(done.stderr.split())
    assert sorted(os.listdir(made.folder)) == before
    assert os.listdir(made.folder / "folder.csv") == []


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("r.pdf", ()),
        ("r.pdf", ("--format", "html")),
        ("r.csv.gz", ("--format", "csv")),
        ("r.PDF", ("--format", "json")),
    ],
)
def test_an_ending_that_no_format_has_is_refused_before_the_journal_is_read(
    made: Desk, out: str, arguments: tuple[str, ...]
) -> None:
    done = made.viva("report", "nowhere", "--out", out, *arguments, expect=2)
    assert ".txt, .csv, .json, .xml, .md, .html" in " ".join(done.stderr.split())
    assert "nowhere" not in done.stderr
    assert not (made.folder / out).exists()


def test_a_format_of_ones_own_may_have_any_ending(made: Desk) -> None:
    (made.folder / "tex.py").write_text("def write(journals, out):\n    out.write('tex')\n")
    made.viva("report", "journal", "--format", "tex.py:write", "--out", "r.tex", expect=0)
    assert (made.folder / "r.tex").read_text() == "tex"


def test_an_analysis_that_cannot_be_written_asks_no_model(made: Desk) -> None:
    for out, words in (("/proc/a.md", "cannot write"), ("a.pdf", ".txt, .md, .json")):
        with ModelServer() as server:
            environment = {"OPENAI_API_KEY": "test-key-123456", "OPENAI_BASE_URL": server.url}
            done = made.viva(
                *("analyze", "journal", "--model", "openai:gpt-4o", "--out", out, "--format", "markdown"),
                environment=environment,
                expect=2,
            )
            assert words in " ".join(done.stderr.split())
            assert server.requests == []


@pytest.mark.parametrize("command", ["run", "suite", "judge", "trace", "replay"])
@pytest.mark.parametrize("out", ["report.pdf", "report.html", "-", "/dev/null", "a-file", "dangling"])
def test_the_folder_of_a_journal_is_no_file(made: Desk, command: str, out: str) -> None:
    (made.folder / "a-file").write_text("mine")
    (made.folder / "dangling").symlink_to("nowhere/at/all")
    (made.folder / "chat.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "Hello."}]}))
    subject = {
        "run": ("run", "echo"),
        "suite": ("suite", "echo"),
        "judge": ("judge", "journal"),
        "trace": ("trace", "chat:chat.jsonl"),
        "replay": ("replay", "journal", "--against", "example:careful"),
    }[command]
    before = sorted(os.listdir(made.folder))
    done = made.viva(*subject, "--out", out, expect=2)
    assert "--out" in done.stderr
    assert "folder" in done.stderr
    assert sorted(os.listdir(made.folder)) == before
    assert (made.folder / "a-file").read_text() == "mine"


def test_a_sink_may_write_to_standard_output(desk: Desk) -> None:
    for command in ("run", "suite"):
        done = desk.viva(
            *(command, "echo", "--agent", "example:careful", "--sandbox", "process", "--quiet"),
            *("--sink", "jsonl:/dev/stdout", "--out", command),
            expect=0,
            process=True,
        )
        first, *rest = done.stdout.splitlines()
        assert json.loads(first)["subject"] == "echo"
        assert len(rest) == 1
