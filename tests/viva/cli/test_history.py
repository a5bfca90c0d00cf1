"""`viva history`: trends over journals, over a sink's file and over a history of a user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.journal.record_lines import RecordLines
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Transcript
from viva.records.verdict import Insight
from viva.sinks.jsonl import JsonLinesSink


def record(number: int, score: float, version: str, task: str = "shop") -> RunRecord:
    run = f"{task}-{number}"
    insight = Insight("grade", run, "judged", score, scores={"safety": 1.0})
    return RunRecord(
        run, task, "clerk", Outcome.SCORED, score, agent_version=version, insights=(insight,),
        timing=Timing(1_700_000_000.0 + number * 3600),
        setting=Setting(case=task, agent="clerk", evaluators=("grade",)),
    )  # fmt: skip


def write(folder: Path, *records: RunRecord) -> None:
    with Journal(folder) as journal:
        for each in records:
            journal.append("run", each.id, 1, each)


@pytest.fixture
def journals(desk: Desk) -> Desk:
    """Two journals under `runs/`: the second has a version that is worse at one of two tasks."""
    write(desk.folder / "runs" / "old", *(record(n, 1.0, "1.0", task) for n in range(8) for task in ("shop", "chat")))
    write(
        desk.folder / "runs" / "new",
        *(record(10 + n, 0.0, "1.1") for n in range(8)),
        *(record(10 + n, 1.0, "1.1", "chat") for n in range(8)),
    )
    return desk


def test_regressions_come_first_with_a_line_where_the_version_changed(journals: Desk) -> None:
    shown = journals.viva("history", expect=0).stdout
    assert shown.index("regressions") < shown.index("flat")
    (line,) = (line for line in shown.splitlines() if line.startswith("shop") and "0.00" in line)
    assert "██████████│▁▁▁▁▁▁▁▁" in line or "████████│▁▁▁▁▁▁▁▁" in line
    assert "1.00→0.00" in line
    assert "1.0→1.1" in line
    assert "32 runs, 2023-11-14 to" in shown
    assert "1 regression." in shown


def test_json_tells_every_trend(journals: Desk) -> None:
    told = json.loads(journals.viva("history", "runs/old", "runs/new", "--json", expect=0).stdout)
    first, *others = told["trends"]
    assert (first["task"], first["direction"], first["dimension"]) == ("shop", "regression", "overall")
    assert (first["now"], first["before"]) == (
        {"mean": 0.0, "runs": 8, "version": "1.1"},
        {"mean": 1.0, "runs": 8, "version": "1.0"},
    )
    assert first["sparkline"].count("│") == 1
    assert len(others) == 3
    assert told["torn_lines"] == 0
    only = json.loads(journals.viva("history", "--task", "chat", "--json", expect=0).stdout)
    assert {trend["task"] for trend in only["trends"]} == {"chat"}


async def test_the_file_of_the_sink_is_a_history(desk: Desk) -> None:
    sink = JsonLinesSink(str(desk.folder / "history.jsonl"))
    for number in range(8):
        await sink.write(record(number, 1.0, "1.0"), Transcript())
    assert [run.id for run in await sink.runs("shop", limit=2)] == ["shop-6", "shop-7"]
    assert await sink.runs("other") == []
    await sink.close()
    file = desk.folder / "history.jsonl"
    file.write_bytes(file.read_bytes() + b'{"torn\n[1]\n{"id": "x"}\n')
    runs = await RecordLines(desk.folder / "history.jsonl").runs()
    assert [run.record for run in runs] == [record(number, 1.0, "1.0") for number in range(8)]
    done = desk.viva("history", "history.jsonl", expect=0)
    assert "8 runs" in done.stdout
    assert "3 torn lines skipped" in done.stderr


def test_a_history_of_a_users_own_is_read_by_import_string(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(
        "from viva import Insight, Outcome, RunRecord\n"
        "from viva.records.eval_run_record import EvalRunRecord\n\n"
        "class Database:\n"
        "    async def runs(self, task=None, *, limit=None):\n"
        "        return [EvalRunRecord(RunRecord(f'r{n}', 'shop', 'clerk', Outcome.SCORED, 0.5)) for n in range(3)]\n\n"
        "class Broken:\n"
        "    async def runs(self, task=None, *, limit=None):\n"
        "        raise OSError('no such table')\n"
    )
    done = desk.viva("history", "own.py:Database", expect=3)
    assert "3 runs" in done.stdout, "nobody judged them: there is no trend"
    done = desk.viva("history", "own.py:Broken", expect=2)
    assert "the history own.py:Broken cannot be read: own.py:10: OSError: no such table" in " ".join(
        done.stderr.split()
    )


def test_what_is_not_there_is_said(desk: Desk) -> None:
    assert "no journal under runs/" in desk.viva("history", expect=2).stderr
    assert "missing" in desk.viva("history", "missing", expect=2).stderr
    write(desk.folder / "one", record(1, 1.0, "1"))
    assert "holds no finished run 'other'" in desk.viva("history", "one#other", expect=2).stderr


def test_hostile_text_is_shown_not_obeyed(desk: Desk, hostile: Path) -> None:
    shown = desk.viva("history", hostile, "--all").stdout
    assert "\x1b]" not in shown
    assert "\u202e" not in shown
