"""`viva trace copilot:FILE`: stored sessions become runs that are judged without a model, and go everywhere runs go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.copilot_sessions import RECORDED, event, recorded_events
from tests.viva.viva_command import in_this_process
from viva.journal.reader import read_runs


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


def test_sessions_of_one_prompt_are_compared_in_their_order_whoever_is_judged_first(tmp_path: Path) -> None:
    # The later session comes first in the file; 30 runs are more than are looked at at once.
    sessions = [session(f"s{hour}", hour, 30_000 // (hour + 1)) for hour in reversed(range(30))]
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for lines in sessions for line in lines))
    done = in_this_process("trace", "copilot:events.jsonl", "--out", "j", "--concurrency", "8", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {run.transcript.attributes["session_id"]: run.insights for run in read_runs(tmp_path / "j")}
    assert found["s0"][0].label == "Inconclusive"
    assert found["s1"][0].summary.startswith("Improved: compared with the prior run: tokens 15,000, before 30,000")
    assert found["s3"][0].summary.startswith("Improved: compared with the prior run: tokens 7,500, before 10,000")
    assert found["s29"][0].summary.startswith("Flat: compared with the prior run: tokens 1,000, before 1,034")
    # Judged again, into another journal and in another order, they come to the same.
    again = in_this_process(
        "judge", "j", "--evaluators", "operational", "--out", "k", "--concurrency", "3", "--quiet", cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    for run in read_runs(tmp_path / "k"):
        (before,) = found[run.transcript.attributes["session_id"]]
        assert (run.insights[0].label, run.insights[0].scores) == (before.label, before.scores)
    in_this_process("judge", "j", "--evaluators", "operational(earlier=5)", "--out", "m", "--quiet", cwd=tmp_path)
    median = {run.transcript.attributes["session_id"]: run.insights[0].summary for run in read_runs(tmp_path / "m")}
    assert median["s3"].startswith("Improved: compared with the median of 3 earlier runs: tokens 7,500, before 15,000")
    assert median["s29"].startswith("Flat: compared with the median of 5 earlier runs: tokens 1,000, before 1,111")


def test_a_file_that_holds_no_session_is_a_mistake_and_leaves_no_journal(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("nothing\n")
    done = in_this_process("trace", "copilot:events.jsonl", "--out", "j", cwd=tmp_path)
    assert done.returncode == 2
    assert "no line is an event of a Copilot session" in done.stderr
    assert not (tmp_path / "j").exists()
