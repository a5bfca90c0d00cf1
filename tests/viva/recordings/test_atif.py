"""ATIF trajectories of every version are read whole, and what is written is read back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recordings import tau_conversations
from tests.viva.recordings.spans.test_families import RECORDED
from viva.recordings.atif.writer import to_atif
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import read_recordings
from viva.records.trajectory import answer_of, trajectory


def agent_step(number: int, **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "agent", "message": "", **more}


def document(version: str = "1.8", **more: Any) -> dict[str, Any]:
    """A trajectory that uses what the format has."""
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": "Weather in Rome?", "timestamp": "2026-01-02T03:04:05.5Z"},
        agent_step(
            3,
            message="I ask both.",
            reasoning_content="Hm.",
            model_name="m-2",
            timestamp="2026-01-02T03:04:06Z",
            tool_calls=[
                {"tool_call_id": "a", "function_name": "weather", "arguments": {"city": "Rome"}},
                {"tool_call_id": "b", "function_name": "weather", "arguments": {"city": "Paris"}},
            ],
            observation={
                "results": [
                    {"source_call_id": "b", "content": "18"},
                    {"source_call_id": "a", "content": [{"type": "text", "text": "25"}]},
                ]
            },
            metrics={"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4, "cost_usd": 0.5},
        ),
        agent_step(4, message="25 degrees.", metrics={"prompt_tokens": 20, "completion_tokens": 3, "cost_usd": 0.25}),
    ]
    return {
        "schema_version": f"ATIF-v{version}",
        "session_id": "session-1",
        "agent": {"name": "tester", "version": "2.0", "model_name": "m-1"},
        "steps": steps,
        **more,
    }


def read(tmp_path: Path, *documents: Any, name: str = "trajectory.json") -> list[Recording]:
    file = tmp_path / name
    file.write_text(json.dumps(documents[0] if len(documents) == 1 else documents))
    return list(read_recordings(f"atif:{file}"))


@pytest.mark.parametrize("version", [f"1.{minor}" for minor in range(9)])
def test_a_trajectory_of_any_version_gives_its_steps(version: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, document(version))
    transcript = recording.transcript
    assert (recording.agent, recording.agent_version, recording.subject) == ("tester", "2.0", "Weather in Rome?")
    assert transcript.system == "Be brief."
    (round_,) = transcript.rounds
    assert (round_.examiner, round_.agent, round_.started) == ("Weather in Rome?", "25 degrees.", 1767323045.5)
    first, second, last = trajectory(transcript)
    assert (first.id, first.thought, first.tool, first.tool_input) == (
        "s3",
        "Hm.\nI ask both.",
        "weather",
        {"city": "Rome"},
    )
    assert (second.id, second.tool_input, second.result) == ("s3#2", {"city": "Paris"}, "18")
    assert (first.result, first.model, last.model) == ("25", "m-2", "m-1")
    assert answer_of(last) == "25 degrees."
    usage = transcript.usage["target"]
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost, usage.calls) == (
        30,
        5,
        4,
        0.75,
        2,
    )
    assert not recording.notes
    assert not transcript.notes


def test_subagents_that_a_trajectory_holds_are_trajectories_of_their_own(tmp_path: Path) -> None:
    inner = {**document(), "trajectory_id": "inner"}
    recordings = read(tmp_path, document(subagent_trajectories=[inner, {**inner, "trajectory_id": "other"}]))
    assert [recording.transcript.trace_id for recording in recordings] == ["session-1", "inner", "other"]
    assert len({recording.run_key for recording in recordings}) == 3


def test_context_that_was_copied_is_no_step_of_the_trajectory_and_costs_nothing(tmp_path: Path) -> None:
    given = document()
    given["steps"].insert(2, agent_step(3, message="Old.", is_copied_context=True, metrics={"prompt_tokens": 999}))
    (recording,) = read(tmp_path, given)
    assert [step.id for step in trajectory(recording.transcript)] == ["s4", "s4#2", "s5"]
    assert recording.transcript.usage["target"].input_tokens == 30
    assert "steps that were copied from an earlier trajectory, not judged: 1" in recording.transcript.notes


def test_nothing_of_the_document_is_thrown_away(tmp_path: Path) -> None:
    given = document(extra={"x": 1}, notes="n", final_metrics={"total_steps": 4}, unheard_of={"deep": [1]})
    given["steps"][2]["extra"] = {"y": 2}
    given["steps"].append(
        {"step_id": 5, "source": "system", "message": "compacted", "observation": {"results": [{"content": "z"}]}}
    )
    (recording,) = read(tmp_path, given)
    kept = json.dumps(
        [recording.transcript.attributes, [step.attributes for step in recording.transcript.rounds[0].steps]]
    )
    for part in ('"x": 1', '"deep": [1]', '"y": 2', '"total_steps": 4', '"compacted"', '"z"'):
        assert part in kept


def test_a_sum_counts_where_the_steps_tell_nothing(tmp_path: Path) -> None:
    given = document(final_metrics={"total_prompt_tokens": 70, "total_completion_tokens": 7})
    for step in given["steps"]:
        step.pop("metrics", None)
    (recording,) = read(tmp_path, given)
    assert recording.transcript.usage["target"].input_tokens == 70


def test_a_folder_of_jobs_is_read_file_by_file(tmp_path: Path) -> None:
    for task in ("b", "a"):
        folder = tmp_path / "job" / task / "agent"
        folder.mkdir(parents=True)
        (folder / "trajectory.json").write_text(json.dumps(document()))
    keys = [recording.run_key for recording in read_recordings(f"atif:{tmp_path}/job")]
    assert keys == ["a/agent/trajectory.json", "b/agent/trajectory.json"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": []}, "not an ATIF trajectory"),
        ({"schema_version": "1.0", "steps": []}, "not an ATIF trajectory"),
        ([1], "not an ATIF trajectory"),
        ({**document(), "steps": [{"source": "robot"}]}, "step 1 is not a step: its source is 'robot'"),
        ({**document(), "steps": ["x"]}, "step 1 is not a step"),
        ({**document(), "subagent_trajectories": {"a": 1}}, "its `subagent_trajectories` are not a list"),
    ],
)
def test_what_is_no_trajectory_is_told(given: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=words):
        read(tmp_path, given)


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"schema_version":\n "ATIF-v1.0",,}')
    with pytest.raises(RecordingError, match="line 2, column"):
        list(read_recordings(f"atif:{file}"))


def test_a_newer_version_is_read_and_noted(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, document("1.9"))
    assert "ATIF-v1.9 is newer" in recording.transcript.notes[0]


def written(recordings: list[Recording]) -> list[Any]:
    return [
        to_atif(
            each.transcript, agent=each.agent or "unknown", version=each.agent_version, session=each.run_key, extra={}
        )
        for each in recordings
    ]


@pytest.mark.parametrize("family", ["llama_index_react", "openai_agents", "pydantic_ai"])
def test_trajectories_of_spans_are_read_back_as_they_were(family: str, tmp_path: Path) -> None:
    before = list(read_recordings(f"otlp:{RECORDED / family}.jsonl"))
    after = read(tmp_path, *written(before))
    for one, other in zip(before, after, strict=True):
        assert one.subject == other.subject
        assert one.transcript.tools == other.transcript.tools
        assert one.transcript.system == other.transcript.system
        told = [
            [
                (step.thought, step.tool, step.tool_input, step.result, step.model, step.usage.input_tokens)
                for step in trajectory(each.transcript)
            ]
            for each in (one, other)
        ]
        assert len(told[0]) == len(told[1])
        for step, again in zip(*told, strict=True):
            assert step[0] == again[0] or (step[0] is None and again[0] is None)
            assert step[1:3] == again[1:3]
            assert step[3:] == again[3:]


def test_what_is_written_of_real_conversations_keeps_the_rules_of_the_format() -> None:
    for trajectory_ in written(tau_conversations()[:5]):
        assert [step["step_id"] for step in trajectory_["steps"]] == list(range(1, len(trajectory_["steps"]) + 1))
        for step in trajectory_["steps"]:
            if step["source"] != "agent":
                assert not {"tool_calls", "metrics", "model_name", "reasoning_content"} & set(step)
            ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
            assert len(ids) == len(set(ids))
            results = step.get("observation", {}).get("results", ())
            assert all(result.get("source_call_id") in (None, *ids) for result in results)
            assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))
