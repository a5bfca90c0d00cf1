"""What the fuzzer starts from: a real journal of runs that passed, failed and broke, and what it is judged with."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.fuzz.watch import unchanged, watched
from tests.viva.viva_command import in_this_process

SECRET = "do-not-read-this-5d1f"
MOST_GROWTH = 1024
"""MiB that a batch of mutations may add to the memory of the process that they run in."""
CASE = """\
task_description: Ask the agent to count.
tags: [fuzz]
data_files: [numbers.csv]
scoring_points:
  - score_point: The agent counts to four.
    weight: 1
    eval_code: assert rounds[3]["agent"] == "4" and len(rounds) == 4
  - score_point: The agent begins with one.
    weight: 2
    eval_code: assert rounds[0]["agent"] == "1"
script:
  - for: n in 1..4
    say: Say {{n}}.
"""
AGENT = '''
import base64

from viva.records.transcript import Reply, Step, Usage

PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


class Counter:
    """Counts; `count_1` begins with a wrong number, `count_2` fails in its third round, `count_3` says a lot."""

    def __init__(self, workspace):
        self.workspace, self.number, self.kind = workspace, 0, workspace.name[:7]

    async def get_reply_from_agent(self, message):
        self.number += 1
        (self.workspace / "log.txt").write_text(str(self.number))
        if self.kind == "count_2" and self.number == 3:
            raise RuntimeError("it broke")
        text = str(self.number)
        if self.kind == "count_1":
            text = "none" if self.number == 1 else text
        steps = [Step(id=f"s{self.number}", kind="tool", tool="add", tool_input="1", result=text)]
        if self.kind == "count_3":
            steps = [Step(id=f"s{self.number}", kind="tool", tool="add", result="y" * 300_000, images=(PICTURE,))]
        return Reply(text, steps, Usage(input_tokens=3, output_tokens=1), images=[PICTURE] if self.number == 2 else [])
'''
EVALUATOR = '''
from viva.records.verdict import Insight


class Strict:
    """The share of the four replies that are right; it needs no sandbox, so that thousands of judgings are quick."""

    name = "strict"

    async def evaluate(self, transcript, context):
        told = [(round_.agent or "").strip() for round_ in transcript.rounds]
        right = sum(mine == str(number + 1) for number, mine in enumerate(told[:4]))
        return Insight("strict", context.subject, "counted", right / 4)
'''


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    errors: str


@dataclass(frozen=True)
class Original:
    """A journal as it was written, and a world around it in which nothing else may change."""

    place: Path
    """Holds `j`, the journal, and is where commands run."""
    files: dict[str, bytes]
    outside: Path

    @functools.cached_property
    def untouched(self) -> object:
        """Tells whether what lies outside is as it was."""
        return unchanged(self.outside)


def make_original(place: Path) -> Original:
    """Hold four exams with an agent of every kind, in a journal `j`."""
    outside = place / "outside"
    outside.mkdir(parents=True)
    (outside / "secret.txt").write_text(SECRET)
    (outside / "agent.py").write_text(f"open({str(outside / 'new.txt')!r}, 'w').close()\nclass Agent: ...\n")
    work = place / "work"
    work.mkdir()
    for number in range(4):
        case = work / "cases" / f"count_{number}"
        case.mkdir(parents=True)
        (case / "case.yaml").write_text(CASE)
        (case / "numbers.csv").write_text("1,2,3\n")
    (work / "counter.py").write_text(AGENT)
    (work / "strict.py").write_text(EVALUATOR)
    done = in_this_process(
        "suite", "cases", "--agent", "counter.py:Counter", "--sandbox", "process", "--out", "j", "--quiet", cwd=work
    )
    assert done.returncode == 0, done.stderr
    journal = work / "j"
    files = {
        str(path.relative_to(journal)): path.read_bytes()
        for path in sorted(journal.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
    return Original(work, files, outside)


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def said(*arguments: str | Path | float, cwd: Path, allowed: tuple[Path, ...]) -> Said:
    """Call `viva` under watch: no traceback, no writes but below `allowed`, nothing hostile in what it says."""
    state = Path(os.environ["XDG_STATE_HOME"])
    own = cwd / "tmp"
    own.mkdir(exist_ok=True)
    # Temporary files have a place of their own: the usual one holds all folders of the tests.
    with watched(*allowed, own, state), mock.patch.object(tempfile, "tempdir", str(own)):
        done = in_this_process(*arguments, cwd=cwd, environment={"TMPDIR": str(own)})
    check_words(done)
    return Said(done.returncode, done.stdout, done.stderr)


def check_words(done: subprocess.CompletedProcess[str]) -> None:
    """See that a command ended as commands end, and that nothing it read took over what it says."""
    words = done.stdout + done.stderr
    assert done.returncode in (0, 1, 2, 3), done.returncode
    for wrong in ("Traceback", "Viva itself failed", "bug in Viva", SECRET):
        assert wrong not in words, words[max(0, words.find(wrong) - 500) :][:3000]
    for hostile in ("\x1b", "\u202e", "\x00"):
        assert hostile not in words, ascii(words[max(0, words.find(hostile) - 200) :][:400])


def peak_memory() -> int:
    """The most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
