"""`viva trace copilot:FILE`: stored sessions become runs that are judged without a model, and go everywhere runs go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from records.journal_reader import read_runs
from tests.copilot_sessions import RECORDED, event, recorded_events
from tests.harness.viva_command import in_this_process


def session(name: str, hour: int, tokens: int) -> list[dict[str, Any]]:
    return [
        event("session.start", 3600 * hour, sessionId=name),
        event("user.message", 3600 * hour + 1, content="tidy up"),
        event("assistant.usage", 3600 * hour + 2, model="gpt-5", inputTokens=tokens, outputTokens=0),
        event("assistant.message", 3600 * hour + 3, content="done", messageId="m"),
    ]


def test_the_recorded_session_is_a_run_with_metrics_and_an_operational_insight(tmp_path: Path) -> None:
    events = recorded_events()
    done = in_this_process("trace", f"copilot:{RECORDED}", "--out", "j", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = read_runs(tmp_path / "j")
    assert run.record is not None
    assert run.record.metrics is not None
    assert run.record.metrics.unknown == {"event future.event_type": 1}
    assert run.record.setting.evaluators == ("operational",)
    assert run.insights[0].label == "Inconclusive"
    # reliability: half the model calls answered, one abort; no tool call succeeded.
    assert run.insights[0].scores == {"tool_economy": 0.0, "reliability": 0.25}
    assert len(run.transcript.rounds) == 1
    assert len(events) == 9
    shown = in_this_process("replay", "j", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "fix the bug" in shown.stdout
    judged = in_this_process("judge", "j", "--evaluators", "operational", "--out", "again", cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    (again,) = read_runs(tmp_path / "again")
    assert again.insights[0].scores == run.insights[0].scores


def test_sessions_of_one_prompt_are_runs_of_one_task_compared_in_their_order(tmp_path: Path) -> None:
    lines = [*session("a", 1, 1000), *session("b", 2, 400)]
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = in_this_process("trace", "copilot:events.jsonl", "--out", "j", "--concurrency", "1", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {run.setting.trial: run.insights[0] for run in read_runs(tmp_path / "j")}
    assert [found[trial].label for trial in (1, 2)] == ["Inconclusive", "Improved"]
    assert found[2].scores["efficiency"] == 1.0


def test_a_file_that_holds_no_session_is_a_mistake_and_leaves_no_journal(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("nothing\n")
    done = in_this_process("trace", "copilot:events.jsonl", "--out", "j", cwd=tmp_path)
    assert done.returncode == 2
    assert "no line is an event of a Copilot session" in done.stderr
    assert not (tmp_path / "j").exists()
