"""Nothing that an agent leaves in its workspace takes its run out of the averages."""

from __future__ import annotations

import pytest

from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records

DEEP = """
fd = os.open(work, os.O_RDONLY)
for _ in range({levels}):
    os.mkdir({name!r}, dir_fd=fd)
    below = os.open({name!r}, os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = below
for number in range({files}):
    os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=fd))
os.close(fd)
"""
TOO_LARGE = {
    "names that are no UTF-8, below a long path": DEEP.format(levels=13, name=b"\xff" * 250, files=3600),
    "names with line breaks, below a long path": DEEP.format(levels=13, name=b"\n" * 250, files=3600),
    "folders without end": DEEP.format(levels=900, name=b"d", files=1),
    "a path too long to name": DEEP.format(levels=100, name=b"d" * 200, files=1),
    "many links with long targets": "for n in range(4500): os.symlink('x/' * 2000, f'{work}/{n}')",
    "many links that lead out": "for n in range(20100): os.symlink('/etc', f'{work}/{n}')",
    "a file of ten gigabytes without content": "Path(work, 'a').touch(); os.truncate(work + '/a', 10 * 2**30)",
    "many files of a megabyte without content": "for n in range(150):\n"
    "    Path(work, str(n)).touch(); os.truncate(f'{work}/{n}', 2**20)",
}
ODD = {
    "names with control characters": "for name in ('a\\nb', '\\x1b[2J', '\\u202e', '\\udcff', '-rf', '...', ' '):\n"
    "    open(work + '/' + name, 'w').close()",
    "modes that forbid everything": "os.mkdir(work + '/shut'); open(work + '/a', 'w').close()\n"
    "os.chmod(work + '/a', 0); os.chmod(work + '/shut', 0)",
    "every odd mode": "for m in range(0, 0o10000, 73):\n"
    "    open(f'{work}/{m}', 'w').close(); os.chmod(f'{work}/{m}', m)",
    "times before and after all times": "for n, t in enumerate((-2**40, -1, 2**31, 2**33, 2**40)):\n"
    "    open(f'{work}/{n}', 'w').close(); os.utime(f'{work}/{n}', (t, t))",
    "loops of links": "os.symlink('b', work + '/a'); os.symlink('a', work + '/b'); os.symlink('.', work + '/c')",
    "pipes and sockets": "os.mkfifo(work + '/pipe'); os.mknod(work + '/socket', 0o140600)",
    "many hard links of a large file": "Path(work, 'a').write_bytes(bytes(10**5))\n"
    "for n in range(500): os.link(work + '/a', f'{work}/{n}')",
    "a folder in place of the history": "os.makedirs(work + '/eval_chat_history.json/a/b')",
    "its workspace removed": "import shutil; shutil.rmtree(work)",
}


def hold(desk: Desk, what: str) -> tuple[str, float | None, list[str]]:
    """Hold an exam of an agent that does this in its workspace, and judge it again: outcome, score and flags."""
    body = "\n".join(
        f"    {line}" for line in ["work = str(self.workspace)", *what.strip().split("\n"), "return 'done'"]
    )
    agent = desk.agent(f"def get_reply_from_agent(self, message):\n{body}")
    case = desk.case(scoring_points=[point("import os\nassert rounds and os.listdir() is not None")])
    first = desk.run(case, "--agent", agent)
    desk.viva("judge", "journal", "--sandbox", "process", "--quiet", expect=0)
    (again,) = read_records(desk.folder / "journal")
    assert (again.outcome.value, again.score) == (first["outcome"], first["score"]), "judged again"
    flags = [flag for insight in again.insights for verdict in insight.verdicts for flag in verdict.flags]
    return first["outcome"], first["score"], flags


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_is_too_large_for_a_sandbox_is_a_flagged_miss(desk: Desk, what: str) -> None:
    assert hold(desk, TOO_LARGE[what]) == ("scored", 0.0, ["workspace-too-large"])


@pytest.mark.parametrize("what", ODD)
def test_what_is_merely_odd_is_judged_as_any_other_workspace(desk: Desk, what: str) -> None:
    outcome, score, flags = hold(desk, ODD[what])
    assert (outcome, score) == ("scored", 1.0)
    assert set(flags) <= {"workspace-unreadable"}
