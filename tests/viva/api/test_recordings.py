"""`viva.trace`: recordings are imported and judged from Python as `viva trace` does it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import viva
from tests.viva.api.conftest import Length

TALK = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Good day to you."}]


@pytest.fixture
def chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The source of three conversations in the current folder, of which two have a reward."""
    monkeypatch.chdir(tmp_path)
    talks = [{"task_id": number, "traj": TALK, "reward": reward} for number, reward in enumerate((1.0, 0.0, None))]
    (tmp_path / "chats.json").write_text(json.dumps(talks))
    return "chat:chats.json"


def test_recordings_are_imported_and_judged_by_the_readers_evaluators(chats: str) -> None:
    result = viva.trace(chats, out="traced")
    assert result.folder == Path("traced").absolute()
    assert (result.figures.suite.runs, result.figures.suite.mean) == (2, 0.5)
    assert result.figures.suite.excluded == {"unscored": 1}


async def test_an_object_judges_them_in_async_code_and_each_run_is_told(chats: str) -> None:
    ended: list[str] = []

    class Told:
        async def on_end(self, run: viva.RunHeader, record: viva.RunRecord, transcript: viva.Transcript) -> None:
            ended.append(record.subject)

    result = await viva.trace_async([chats], evaluators=Length(100), limit=2, subscribers=Told())
    assert [run.transcript.rounds[0].agent for run in result.runs()] == ["Good day to you."] * 2
    assert {run.setting.evaluators for run in result.runs()} == {("length",)}
    assert len(ended) == 2


def test_mistakes_leave_no_journal(chats: str) -> None:
    for recordings, more, words in (
        ("chat:missing.json", {}, "missing.json"),
        ("chats.json", {}, "reader"),
        (chats, {"limit": 0}, "limit"),
        (chats, {"judgemodel": "openai:x"}, "judge_model"),
        (chats, {"mapping": "names.yaml"}, "mapping"),
        (chats, {"since": datetime(2999, 1, 1, tzinfo=UTC), "evaluators": "reward"}, "--since"),
    ):
        with pytest.raises(viva.SetupError, match=words):
            viva.trace(recordings, out="traced", **more)
        assert not Path("traced").exists()
