"""`viva trace` on spans: imported whole, shown as the agent's decisions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.recordings import recorded_family
from tests.viva.viva_command import in_this_process
from viva.journal.reader import StoredRun, read_records, read_runs
from viva.recordings.events.conversation import conversation_metrics
from viva.records.trajectory import trajectory
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.stored_request import request_to_resume


def trace(folder: Path, *arguments: str | Path) -> tuple[int, str, str]:
    """Run `viva trace` in a folder; without an evaluator that fits, it ends with 3."""
    done = in_this_process("trace", *arguments, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def run_of(folder: Path, case: str) -> StoredRun:
    """The first trial of one case: a journal's order is that in which its runs ended, which load changes."""
    return next(run for run in read_runs(folder) if (run.setting.case, run.setting.trial) == (case, 1))


def tools_of(folder: Path) -> Mapping[str, Any]:
    run = next(iter(read_runs(folder)))
    return {tool["function"]["name"]: tool["function"] for tool in run.transcript.tools}


def test_a_replay_prints_the_decisions_of_the_agent_and_not_every_span(tmp_path: Path) -> None:
    trace(tmp_path, f"otlp:{recorded_family('llama_index_react')}", "--out", "j")
    done = in_this_process("replay", "j", cwd=tmp_path)
    assert done.returncode == 0
    first = next(text for text in done.stdout.split("1 round") if "Of Rome." in text)
    assert first.count("    step ") == 3
    lines = [line.rstrip() for line in first.splitlines()]
    at = next(
        number for number, line in enumerate(lines) if line.startswith("    step      get_weather({'city': 'Rome'})")
    )
    assert lines[at - 2 : at] == ["    thought   I need the weather.", "              Of Rome."]
    assert lines[at + 1] == "    result    25 degrees"
    assert "[written as convert({'degrees': 25, 'unit': 'fahrenheit',})]" in first
    assert "20 further spans in the journal" in first
    assert 23 in [len(run.transcript.rounds[0].steps) for run in read_runs(tmp_path / "j")]


def test_an_imported_trace_holds_what_the_reader_gave(tmp_path: Path) -> None:
    trace(tmp_path, f"otlp:{recorded_family('openai_agents')}", "--out", "j")
    runs = list(read_runs(tmp_path / "j"))
    assert len(runs) == 7
    run = run_of(tmp_path / "j", "How warm is it in Paris and Rome?")
    assert run.setting.agent == "weatherman"
    assert run.setting.agent_version == "1.2"
    assert [step.tool for step in trajectory(run.transcript)] == ["get_weather", "get_weather", None]
    records = list(read_records(tmp_path / "j"))
    assert len({record.id for record in records}) == 7
    trials = sorted(run.setting.trial for run in runs if run.setting.case == "Hello!")
    assert trials == [1, 2], "two traces of one question are two trials of one subject"


def test_tools_of_the_user_are_in_the_journal_and_are_not_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("get_weather:\n  extra: It knows two cities.\nother: Never used.\n")
    trace(tmp_path, f"otlp:{recorded_family('langgraph')}", "--tools", "tools.yaml", "--out", "j")
    tools = tools_of(tmp_path / "j")
    assert tools["get_weather"]["description"] == "Tell the weather of a city. It knows two cities."
    assert tools["other"] == {"name": "other", "description": "Never used."}
    (tmp_path / "tools.yaml").unlink()
    assert request_to_resume(tmp_path / "j", RecordingsRequest, "trace").tools[1]["function"]["name"] == "other"
    done = in_this_process("trace", "--resume", "j", cwd=tmp_path)
    assert "cannot be read" not in done.stderr


def test_since_leaves_earlier_traces_out(tmp_path: Path) -> None:
    spec = f"otlp:{recorded_family('llama_index_react')}"
    code, _, errors = trace(tmp_path, spec, "--since", "2100-01-01", "--out", "j")
    assert code == 2
    assert "contains no recording that began at 2100-01-01T00:00:00+00:00 or later" in errors
    assert not (tmp_path / "j").exists()
    starts = sorted(run.transcript.rounds[0].started for run in _imported(tmp_path, spec))
    moment = datetime.fromtimestamp(starts[1], UTC).isoformat()
    trace(tmp_path, spec, "--since", moment, "--out", "k")
    assert len(list(read_runs(tmp_path / "k"))) == 2


def _imported(folder: Path, spec: str) -> list[Any]:
    trace(folder, spec, "--out", "all")
    return list(read_runs(folder / "all"))


def test_mistakes_are_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "Hi"}]')
    spec = f"otlp:{recorded_family('langgraph')}"
    for arguments, words in (
        (("chat:talk.json", "--since", "1d"), "the reader chat does not support --since"),
        ((spec, "--since", "soon"), "'soon' is not a time"),
        ((spec, "--tools", "none.yaml"), "the file none.yaml cannot be read"),
        (("spans:talk.json",), "there is no span in it"),
        (("phoenix:nowhere",), "an address is required"),
    ):
        code, _, errors = trace(tmp_path, *arguments, "--out", "j")
        assert code == 2, arguments
        assert words in errors


def test_runs_are_written_as_atif_and_read_back(tmp_path: Path) -> None:
    trace(tmp_path, f"otlp:{recorded_family('pydantic_ai')}", "--out", "j")
    assert in_this_process("report", "j", "--format", "atif", "--out", "j.jsonl", cwd=tmp_path).returncode == 0
    trace(tmp_path, "atif:j.jsonl", "--out", "k")
    before, after = ([_told(run) for run in read_runs(tmp_path / name)] for name in ("j", "k"))
    assert before == after
    assert len(before) == 6


def _told(run: Any) -> Any:
    steps = [(step.tool, step.tool_input, step.result, step.thought) for step in trajectory(run.transcript)]
    return run.setting.case, run.setting.agent, run.transcript.rounds[0].agent, steps


def test_a_trace_is_judged_without_a_model_unless_evaluators_are_named(tmp_path: Path) -> None:
    code, out, _ = trace(tmp_path, f"otlp:{recorded_family('llama_index_react')}", "--out", "j")
    assert code == 0
    records = list(read_records(tmp_path / "j"))
    assert len(records) == 3
    for record in records:
        assert [insight.evaluator for insight in record.insights] == ["loops", "repeated_calls", "tool_success"]
    assert "Tool success: 66.67% (2 of 3 steps)" in out


def test_the_span_of_a_tool_and_the_call_of_it_are_one_call(tmp_path: Path) -> None:
    spec = f"otlp:{recorded_family('openai_agents')}"
    trace(tmp_path, spec, "--evaluators", "operational", "--out", "j")
    first = run_of(tmp_path / "j", "How warm is it in Paris and Rome?")
    metrics = conversation_metrics(first.transcript)
    assert dict(metrics.tool_calls) == {"get_weather": 2}
    failing = run_of(tmp_path / "j", "How warm is it in Atlantis?")
    metrics = conversation_metrics(failing.transcript)
    assert (dict(metrics.tool_failures), dict(metrics.model_failures)) == ({"get_weather": 1}, {})
