"""Journals with very many runs that never ended: commands stay small, and say how to choose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.viva_command import in_this_process
from viva.cli.commands import judge
from viva.cli.replaying import printed
from viva.journal.line_checksum import seal
from viva.journal.lines import FILE

RUNS = 30


def open_runs(folder: Path, number: int = RUNS) -> Path:
    """A journal of runs with a setting and a round each: first all settings, then all rounds."""
    folder.mkdir()
    setting = {"case": "talks", "agent": "a", "trial": 1, "versions": {f"part-{n}": "1.0" for n in range(8)}}
    with (folder / FILE).open("wb") as file:
        for kind, data in (("setting", setting), ("round", {"number": 1, "examiner": "hi", "agent": "hello"})):
            for place in range(number):
                line = {"v": 1, "event": kind, "run": f"talks-{place:08x}", "attempt": 1, "data": data}
                file.write(seal(json.dumps(line, separators=(",", ":")).encode()[:-1]))
    return folder


def test_replay_prints_the_first_of_many_runs_and_says_how_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "MOST_PRINTED", 10)
    open_runs(tmp_path / "j")
    done = in_this_process("replay", "j", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("hello")) == (0, 10)
    assert "j holds 30 runs; only the first 10 are printed. To choose others: j#RUN-ID, --case," in done.stderr
    chosen = in_this_process("replay", "j", "--outcome", "unfinished", cwd=tmp_path)
    assert (chosen.stdout.count("hello"), "only the first" in chosen.stderr) == (RUNS, False)
    whole = in_this_process("replay", "j", "--json", cwd=tmp_path)
    assert len(whole.stdout.splitlines()) == RUNS
    one = in_this_process("replay", "j#talks-00000007", cwd=tmp_path)
    assert (one.returncode, one.stdout.count("hello")) == (0, 1)


def test_judge_names_the_first_of_many_runs_that_are_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "MOST_NAMED", 10)
    open_runs(tmp_path / "j")
    done = in_this_process("judge", "j", "--out", "judged", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout.count("the conversation did not end, so it is not judged") == 10
    assert "20 further conversations did not end, so they are not judged" in done.stdout


def test_open_runs_take_little_more_memory_than_their_lines(tmp_path: Path) -> None:
    folder = open_runs(tmp_path / "j", 20_000)
    code = (
        "import re,sys;from pathlib import Path;from viva.journal.reader import read_runs;"
        "peak=lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) * 1024;"
        "before=peak();count=sum(1 for run in read_runs(Path(sys.argv[1])));print(peak() - before, count)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    used, count = map(int, done.stdout.split())
    assert count == 20_000
    assert used < 4 * (folder / FILE).stat().st_size + 10_000_000
