"""An agent that puts something else in place of its workspace harms nothing outside, and fails at most itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point

MADE = {
    "a link": "path.rmdir(); path.symlink_to(outside)",
    "a dangling link": "path.rmdir(); path.symlink_to(outside / 'new')",
    "a file": "path.rmdir(); path.write_text('')",
    "a link in it": "(path / 'a.csv').symlink_to(outside / 'new')",
}
LATER = {
    "a link": "shutil.move(path, 'moved'); path.symlink_to(outside)",
    "a link above": "shutil.move(path, 'moved'); path.symlink_to(outside)",
    "a file": "shutil.rmtree(path); path.write_text('')",
    "nothing": "shutil.rmtree(path)",
}
AGENT = """
def __init__(self, task_description, workspace):
    super().__init__(task_description)
    import shutil
    self.path = path = Path(workspace)
    self.outside = outside = Path({outside!r})
    {made}

def get_reply_from_agent(self, message):
    import shutil
    path, outside = self.path, self.outside
    {later}
    return 'Hello.'
"""


def hold(desk: Desk, isolate: bool, **does: str) -> dict[str, object]:
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    agent = desk.agent(AGENT.format(outside=str(outside), **{"made": "pass", "later": "pass", **does}))
    check = point("import os; assert not os.path.exists('precious') and not os.path.exists('sub/precious')")
    case = desk.case(data={"a.csv": "1"}, data_files=["a.csv"], scoring_points=[check])
    record = desk.run(case, "--agent", agent, *(["--isolate"] if isolate else []))
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "mine"}
    kept = [path.name for path in (desk.folder / "journal").rglob("*") if not path.is_symlink()]
    assert "precious" not in kept
    return record


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("what", list(MADE))
def test_data_files_do_not_go_through_what_its_constructor_left(desk: Desk, what: str, isolate: bool) -> None:
    record = hold(desk, isolate, made=MADE[what])
    assert record["outcome"] == ("scored" if what == "a link in it" else "target_error"), record["error"]


@pytest.mark.parametrize("sub", ["", "self.workspace = path / 'sub'; self.workspace.mkdir()", "self.workspace = own()"])
@pytest.mark.parametrize("what", list(LATER))
def test_what_takes_the_place_of_its_workspace_later_is_not_read_and_does_not_excuse_it(
    desk: Desk, what: str, sub: str
) -> None:
    own = "Path('own').mkdir(); self.path = path = self.workspace = Path('own').absolute()"
    record = hold(desk, False, made=own if "own" in sub else sub or "pass", later=LATER[what])
    assert record["outcome"] == "scored", record["error"]
    judged = desk.viva("judge", "journal", "--sandbox", "process", "--json")
    assert judged.returncode in (0, 3), judged.stderr
    assert "Viva itself failed" not in judged.stdout
    assert "precious" not in [path.name for path in Path(desk.folder).rglob("*") if path.parent.name != "outside"]


NO_FOLDERS = {
    "half a path": "self.workspace = Path('a\\0b')",
    "a circle": "os.symlink('loop', 'loop'); self.workspace = Path('loop/deep').absolute()",
    "too long": "self.workspace = Path('x' * 5000)",
    "half a character": "self.workspace = Path('\\ud800')",
    "bytes that are no text": "self.workspace = os.fsdecode(b'\\xff\\xfe')",
}


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("what", list(NO_FOLDERS))
def test_a_workspace_that_is_none_is_no_excuse(desk: Desk, what: str, isolate: bool) -> None:
    method = "def get_reply_from_agent(self, message): return 'Hello.'"
    agent = desk.agent(f"def __init__(self, task_description):\n    {NO_FOLDERS[what]}\n{method}")
    record = desk.run(desk.case(), "--agent", agent, *(["--isolate"] if isolate else []))
    assert record["outcome"] in ("target_error", "scored"), record["error"]
