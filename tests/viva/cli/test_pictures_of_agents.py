"""Pictures that an agent shows are kept, wherever its adapter has its files, and go along with the run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.viva.conftest import Desk
from tests.viva.recorded_systems import picture
from viva.journal.kept_files import is_kept_name, read_sound
from viva.journal.reader import read_runs

AGENT = """
def __init__(self, task_description):
    super().__init__(task_description)
    self.workspace = Path("own files").absolute()
    self.workspace.mkdir(exist_ok=True)
    import shutil
    for name in ("reply.png", "step.png"):
        shutil.copy(f"../{name}" if os.path.exists(f"../{name}") else name, self.workspace)

def get_reply_from_agent(self, message):
    from viva.records.transcript import Reply, Step
    return Reply("Look.", (Step("s1", tool="look", images=("step.png",)),), images=("reply.png",))
"""


def pictures(folder: Path) -> list[bytes | None]:
    (run,) = read_runs(folder)
    (round_,) = run.transcript.rounds
    names = [*round_.images, *round_.steps[0].images]
    assert all(is_kept_name(name) for name in names), names
    return [read_sound(folder, name) for name in names]


def test_relative_pictures_lie_in_the_workspace_that_the_adapter_sets_and_are_carried_along(desk: Desk) -> None:
    shown = [picture(1), picture(2)]
    for name, content in zip(("reply.png", "step.png"), shown, strict=True):
        (desk.folder / name).write_bytes(content)
    desk.case()
    record = desk.run("exam", "--agent", desk.agent(AGENT))
    assert record["setting"]["workspace"].startswith("workspaces/"), "its files are in the journal"
    assert pictures(desk.folder / "journal") == shown
    for file in (desk.folder / "own files").iterdir():
        file.unlink()
    desk.viva("judge", "journal", "--sandbox", "process", "--out", "judged", expect=0)
    assert pictures(desk.folder / "judged") == shown
    desk.viva("replay", "journal", "--against", "replay:journal", "--sandbox", "process", "--out", "against", expect=0)
    assert pictures(desk.folder / "against") == shown


def test_every_command_that_makes_runs_sends_each_of_them_to_the_sinks_once(desk: Desk) -> None:
    desk.case()
    sink = ("--sandbox", "process", "--sink", "jsonl:all.jsonl")
    desk.viva("run", "exam", "--out", "journal", *sink, expect=0)
    desk.viva("judge", "journal", "--out", "judged", *sink, expect=0)
    desk.viva("replay", "journal", "--against", "example:careful", "--out", "against", *sink, expect=0)
    desk.viva("suite", "exam", "--trials", "2", "--out", "suite", *sink, expect=0)
    desk.viva("suite", "--resume", "suite", "--sink", "jsonl:all.jsonl", expect=0)
    lines = [json.loads(line) for line in (desk.folder / "all.jsonl").read_text().splitlines()]
    assert [line["subject"] for line in lines] == ["exam"] * 5
    assert {line["score"] for line in lines} == {1.0}
