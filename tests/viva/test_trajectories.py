"""Trajectories from the command line: figures, CSV, gates, comparison, following, training data."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.judge.trajectory.react_model import judge
from tests.model_server import ModelServer
from tests.otlp_receiver import attributes, http_receiver
from tests.recordings import TAU, shared_file
from tests.viva.viva_command import in_this_process
from tests.webhooks import Hook
from viva.journal.reader import read_records

TOOLS = Path(__file__).parents[1] / "airline_tools.yaml"
RIGHT = {"thought_to_tool": "correct", "query_to_thought": "correct", "sequence": "optimal"}
THREE = "thought_to_tool,query_to_thought,sequence"


def conversation(task: str, *calls: tuple[str | None, str, Mapping[str, Any]], reward: float = 1.0) -> dict[str, Any]:
    """One recorded conversation; each call has a thought, a tool and arguments."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Please do {task}."}]
    for number, (thought, tool, arguments) in enumerate(calls):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": thought, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": "Error: no" if tool == "fail" else "ok"}
        )
    messages.append({"role": "assistant", "content": "Done."})
    return {"task_id": task, "trial": 0, "reward": reward, "messages": messages}


TALKS = [
    conversation("alpha", ("I look first.", "look", {"a": 1}), ("Then I write.", "write", {"a": 1})),
    conversation("beta", ("I look badly.", "look", {}), (None, "fail", {}), reward=0.0),
    conversation("gamma", reward=0.0),
]


def save(folder: Path, talks: list[dict[str, Any]], name: str = "talks.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return file


def trace(folder: Path, *arguments: str | Path | float, labels: Mapping[str, str] | None = None, **more: Any) -> Any:
    """Trace `talks.jsonl`, with a model where labels are given."""
    source = f"chat:{folder / 'talks.jsonl'}"
    if labels is None:
        return in_this_process("trace", source, *arguments, cwd=folder, **more)
    with ModelServer({"m": judge(labels)}) as server:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        return in_this_process("trace", source, "--model", "openai:m", *arguments, cwd=folder, environment=environment)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "evaluations" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Figures


LABELS = {**RIGHT, "thought_to_tool badly": "incorrect", "sequence beta": "suboptimal"}


def test_the_console_shows_the_figures_of_the_document_with_what_was_not_judged(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, "--evaluators", f"{THREE},tool_success", "--out", "out", labels=LABELS)
    assert done.returncode == 0, done.stderr
    figures = done.stdout[done.stdout.index("Query-to-Thought") :].split("\n \n")[0].splitlines()
    assert [line.rstrip() for line in figures[:11]] == [
        "Query-to-Thought accuracy: 100.00% (3 of 3 steps; 1 skipped)",
        "Thought-to-Tool accuracy: 66.67% (2 of 3 steps; 1 skipped)",
        "Sequence Optimality accuracy: 50.00% (1 of 2 traces; 1 skipped)",
        "Combined accuracy (both correct): 66.67% (2 of 3 steps; 1 skipped)",
        "Combined accuracy (whole trace): 50.00% (1 of 2 traces; 1 skipped)",
        "Tool success: 75.00% (3 of 4 steps)",
        "Tool Usage Breakdown:",
        "  look: 2 uses, 2 succeeded, 0 failed (100.00% success)",
        "  fail: 1 use, 0 succeeded, 1 failed (0.00% success)",
        "  write: 1 use, 1 succeeded, 0 failed (100.00% success)",
        "",
    ]
    for kind in ("markdown", "html", "console"):
        in_this_process("report", "out", "--format", kind, "--out", "report", cwd=tmp_path)
        assert "66.67%" in (tmp_path / "report").read_text(), kind


def test_where_nothing_was_judged_the_console_says_so_and_divides_by_nothing(tmp_path: Path) -> None:
    save(tmp_path, TALKS[2:])
    done = trace(tmp_path, "--evaluators", f"reward,{THREE}", labels=RIGHT)
    assert "Thought-to-Tool accuracy: nothing was judged (0 steps)" in done.stdout
    assert "Sequence Optimality accuracy: nothing was judged (0 traces; 1 skipped)" in done.stdout
    assert "Tool Usage Breakdown: no tool was used" in done.stdout


def test_a_label_that_cannot_be_used_is_counted_and_scored_nowhere(tmp_path: Path) -> None:
    save(tmp_path, TALKS[:2])
    done = trace(
        tmp_path,
        "--evaluators",
        f"reward,{THREE}",
        "--out",
        "out",
        labels={**RIGHT, "thought_to_tool beta": "rather correct", "thought_to_tool not shown": "rather correct"},
    )
    assert "Thought-to-Tool accuracy: 100.00% (2 of 2 steps; 1 not judged, 1 skipped)" in done.stdout
    told = " ".join(done.stdout.split())
    assert "Combined accuracy (both correct): 100.00% (2 of 2 steps; 1 not judged, 1 skipped)" in told
    found = Counter((row["label"], row["score"]) for row in rows(tmp_path / "out", "thought_to_tool"))
    assert found == {("correct", "1"): 2, ("error", ""): 1, ("skipped", ""): 1}


# CSV


def test_there_is_a_csv_file_for_each_evaluator_and_one_for_sequences(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    trace(tmp_path, "--evaluators", THREE, "--out", "out", labels=LABELS)
    found = sorted(rows(tmp_path / "out", "thought_to_tool"), key=lambda row: row["question"])
    assert list(found[0])[:9] == [
        "span_id",
        "trace_id",
        "question",
        "thought",
        "tool",
        "input",
        "label",
        "score",
        "explanation",
    ]
    assert [(row["question"], row["thought"], row["tool"], row["input"], row["label"]) for row in found[:2]] == [
        ("Please do alpha.", "I look first.", "look", '{"a": 1}', "correct"),
        ("Please do alpha.", "Then I write.", "write", '{"a": 1}', "correct"),
    ]
    sequences = {row["question"]: row for row in rows(tmp_path / "out", "sequences")}
    alpha = sequences["Please do alpha."]
    assert alpha["thought_sequence"] == "Step 1: I look first. Step 2: Then I write."
    assert alpha["tool_sequence"] == 'Step 1: look - {"a": 1}... Step 2: write - {"a": 1}...'
    assert (alpha["label"], alpha["score"]) == ("optimal", "1")
    assert not list((tmp_path / "out" / "evaluations").glob(".*"))


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    evil = "=HYPERLINK(1)"
    save(tmp_path, [conversation(evil, (evil, evil, {}))])
    trace(tmp_path, "--evaluators", "tool_success,loops", "--out", "out")
    for name in ("tool_success", "loops"):
        for row in rows(tmp_path / "out", name):
            assert not any(text.startswith(("=", "+", "@")) for text in row.values()), row


# Gates


@pytest.mark.parametrize(
    ("gate", "labels", "code", "words"),
    [
        ("thought_to_tool=0.6", {"thought_to_tool badly": "incorrect"}, 0, ""),
        ("thought_to_tool=0.7", {"thought_to_tool badly": "incorrect"}, 1, "by thought_to_tool (low bound) is 0.6667"),
        ("thought_to_tool=0.7", {"thought_to_tool badly": "unsure"}, 1, "by thought_to_tool (low bound) is 0.6667"),
        ("thought_to_tool=0.6", {"thought_to_tool badly": "unsure"}, 0, ""),
        (
            "thought_to_tool=0.6",
            {"thought_to_tool beta": "none", "thought_to_tool not shown": "none"},
            3,
            "thought_to_tool could not judge everything: 1 error",
        ),
        # Only what the recording says keeps the judge from a verdict: that is open, and counts.
        ("thought_to_tool=0.7", {"thought_to_tool beta": "none"}, 1, "by thought_to_tool (low bound) is 0.6667"),
        ("thought_to_tool=0.7", {"thought_to_tool badly": "none"}, 1, "by thought_to_tool (low bound) is 0.6667"),
        ("thought_to_tool=0.6", {"thought_to_tool badly": "none"}, 0, ""),
        ("combined_steps=0.7", {"thought_to_tool badly": "incorrect"}, 1, "by combined_steps (low bound) is 0.6667"),
        ("combined_traces=0.6", {"thought_to_tool badly": "incorrect"}, 1, "by combined_traces (low bound) is 0.5"),
        ("combined_traces=0.5", {"thought_to_tool badly": "incorrect"}, 0, ""),
        (
            "combined_steps=0.6",
            {"query_to_thought beta": "none", "query_to_thought not shown": "none"},
            3,
            "combined_steps could not judge everything: 1 error",
        ),
        (
            "combined_traces=0.5",
            {"query_to_thought beta": "none", "query_to_thought not shown": "none"},
            3,
            "combined_traces could not judge everything: 1 error",
        ),
        ("match_strict=0.5", {}, 2, "a gate on the evaluator 'match_strict'"),
    ],
)
def test_every_figure_is_gated_by_its_low_bound(
    gate: str, labels: dict[str, str], code: int, words: str, tmp_path: Path
) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, "--evaluators", THREE, "--fail-under", gate, labels={**RIGHT, **labels})
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr


def test_a_drop_from_the_baseline_is_found_by_rate(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    trace(tmp_path, "--evaluators", "tool_success", "--out", "before")
    save(tmp_path, [*TALKS, conversation("delta", ("I fail.", "fail", {}))])
    arguments = ("--evaluators", "tool_success", "--baseline", "before", "--max-drop")
    assert trace(tmp_path, *arguments, "tool_success=0.2").returncode == 0
    done = trace(tmp_path, *arguments, "tool_success=0.1")
    assert done.returncode == 1
    assert "by tool_success fell from 0.7500 to 0.6000, by more than 0.1" in done.stderr


def test_the_same_evaluators_judge_a_live_exam(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from viva import VirtualUser\nfrom viva import Reply, Step\n\n\n"
        "class Agent(VirtualUser):\n"
        "    def get_reply_from_agent(self, message):\n"
        "        step = Step('s1', thought='I echo.', tool='echo', tool_input={'text': message}, result='ok')\n"
        "        return Reply(message, (step,))\n"
    )
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"echo": ["echo"]}))
    done = in_this_process(
        "run",
        "echo",
        "--agent",
        "agent.py:Agent",
        "--evaluators",
        "scoring_points,tool_success,loops,match_in_order",
        "--reference",
        reference,
        "--match-arguments",
        "ignored",
        "--fail-under",
        "match_in_order=1",
        "--out",
        "out",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "Tool success: 100.00%" in done.stdout
    assert "Reference match, in order: 100.00% (1 of 1 trace)" in done.stdout


# References


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.json", "{", "cannot be read"),
        ("r.json", "5", "it must hold an object"),
        ("r.json", '{"alpha": 5}', "must be a list of calls (subject 'alpha')"),
        ("r.jsonl", '{"task_id": "alpha"}', "line 1: no reference"),
        (
            "r.jsonl",
            '{"task_id": 1, "calls": []}\n{"task_id": 1, "calls": []}',
            "line 2: there are two references for '1'",
        ),
        ("r.yaml", "alpha: [{}]", "names no tool"),
        ("r.json", "{}", "holds no reference"),
    ],
)
def test_a_mistake_in_the_reference_is_told_before_anything_is_imported(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    save(tmp_path, TALKS)
    (tmp_path / name).write_text(text)
    done = trace(tmp_path, "--evaluators", "match_strict", "--reference", name, "--out", "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.yaml"])
def test_references_are_read_from_json_json_lines_and_yaml(name: str, tmp_path: Path) -> None:
    save(tmp_path, TALKS[:2])
    calls = [{"tool": "look", "arguments": {"a": 1}}, {"tool": "write", "arguments": {"a": 1}}]
    text = {
        "r.json": json.dumps({"alpha": calls, "beta": []}),
        "r.jsonl": json.dumps({"task_id": "alpha", "actions": calls}) + '\n\n{"subject": "beta", "calls": []}\n',
        "r.yaml": "alpha:\n  - {tool: look, arguments: {a: 1}}\n  - {name: write, kwargs: {a: 1}}\nbeta: []\n",
    }[name]
    (tmp_path / name).write_text(text)
    trace(tmp_path, "--evaluators", "match_strict", "--reference", name, "--out", "out")
    labels = {record.subject: record.insights[0].label for record in read_records(tmp_path / "out")}
    assert labels == {"alpha": "match", "beta": "mismatch"}


def test_match_needs_a_reference_and_a_subject_without_one_is_an_error(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, "--evaluators", "match_strict")
    assert (done.returncode, "add --reference FILE" in done.stderr) == (2, True)
    (tmp_path / "r.json").write_text('{"alpha": []}')
    done = trace(tmp_path, "--evaluators", "match_strict", "--reference", "r.json")
    assert done.returncode == 3
    assert "there is no reference trajectory for the subject" in done.stderr


def test_the_recorded_airline_agent_is_judged_as_found(tmp_path: Path) -> None:
    """100 conversations of tau-bench: what its tools did, and whether matching its tasks' actions tells its reward."""
    source = f"chat:{shared_file(TAU)}"
    evaluators = "reward,tool_success,known_tools,argument_schema,match_strict,match_in_order,match_superset"
    done = in_this_process(
        "trace",
        source,
        "--tools",
        TOOLS,
        "--evaluators",
        evaluators,
        "--reference",
        "recording:info.task.actions",
        "--json",
        cwd=tmp_path,
    )
    figures = json.loads(done.stdout)["figures"]["trajectories"]
    rates = {rate["name"]: (rate["right"], rate["judged"]) for rate in figures["rates"]}
    assert rates == {
        "tool_success": (558, 621),
        "known_tools": (621, 621),
        "argument_schema": (620, 621),
        "match_strict": (3, 100),
        "match_in_order": (35, 100),
        "match_superset": (35, 100),
    }
    tools = {tool["tool"]: (tool["uses"], tool["failed"]) for tool in figures["tools"]}
    assert list(tools)[:3] == ["get_reservation_details", "search_direct_flight", "update_reservation_flights"]
    assert tools["update_reservation_flights"] == (90, 39)
    assert sum(uses for uses, _ in tools.values()) == 621
    agreed = {each["name"]: each["both_right"] + each["both_wrong"] for each in figures["agreements"]}
    assert agreed == {"match_strict": 72, "match_in_order": 90, "match_superset": 90}


# Comparison


def test_two_agents_are_compared_over_the_queries_that_both_answered(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    save(tmp_path, [conversation("beta", ("I look.", "look", {})), conversation("omega")], "other.jsonl")
    done = trace(
        tmp_path,
        "--evaluators",
        "reward,tool_success",
        "--label",
        "agent=old",
        "--label",
        "framework=llama_index",
        "--compare",
        "chat:other.jsonl",
        "--compare-label",
        "agent=new",
        "--compare-label",
        "version=2",
        "--compare-label",
        "technique=react",
        "--out",
        "out",
    )
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index("Cross-agent comparison") :]
    found = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for line in table.splitlines()
        if len(cells := re.split("[│┃]", line)) > 1
    }
    assert found["agent"] == ["new", "old"]
    assert found["version"] == ["2", "unknown"]
    assert found["framework"] == ["unknown", "llama_index"]
    assert found["technique"] == ["react", "unknown"]
    assert found["runs"] == ["1", "1"]
    assert found["mean score"] == ["1.00", "0.00"]
    assert found["Tool success"] == ["100.00% of 1", "50.00% of 2"]
    assert found["uses of fail"] == ["0", "1"]
    assert "1 query answered by every side; 3 not answered by every side are left out" in table


def test_a_journal_is_compared_with_and_one_of_the_same_names_stays_a_side_of_its_own(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    trace(tmp_path, "--evaluators", "reward,tool_success", "--out", "before")
    done = trace(tmp_path, "--evaluators", "reward,tool_success", "--compare", "before", "--out", "after")
    assert "2 (compared with)" in done.stdout
    assert "3 queries answered by every side" in done.stdout
    refused = trace(tmp_path, "--compare", "nowhere")
    assert (refused.returncode, "neither a journal nor a source" in refused.stderr) == (2, True)


@pytest.mark.parametrize("label", ["agent", "colour=red", "agent=", "=x"])
def test_a_label_of_another_form_is_the_users_mistake(label: str, tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, "--label", label)
    assert (done.returncode, "use NAME=VALUE" in done.stderr) == (2, True)


# Following


FOLLOW = ("--follow", "--interval", 0.01, "--window-min", 1, "--evaluators", "reward,tool_success", "--out", "out")


def test_following_judges_each_recording_once(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, *FOLLOW, "--looks", 3)
    assert done.returncode == 0, done.stderr
    assert len(list(read_records(tmp_path / "out"))) == 3
    assert done.stderr.count("3 new runs; newest 3: score 33.33%, tool_success 75.00%") == 1
    save(tmp_path, [*TALKS, conversation("delta")])
    done = in_this_process(
        "trace", "--resume", "out", "--follow", "--looks", 1, "--window-min", 1, "--window", 2, cwd=tmp_path
    )
    assert "1 new run; newest 2" in done.stderr
    assert len(list(read_records(tmp_path / "out"))) == 4


def test_a_sample_is_the_same_recordings_each_time(tmp_path: Path) -> None:
    save(tmp_path, [conversation(f"task {number}") for number in range(200)])
    chosen = []
    for name in ("one", "two"):
        trace(tmp_path, *FOLLOW[:-1], name, "--looks", 1, "--sample", 0.3)
        chosen.append({record.id for record in read_records(tmp_path / name)})
    assert chosen[0] == chosen[1]
    assert 30 < len(chosen[0]) < 90


def test_a_resumed_trace_keeps_its_sample(tmp_path: Path) -> None:
    save(tmp_path, [conversation(f"task {number}") for number in range(40)])
    trace(tmp_path, *FOLLOW, "--looks", 1, "--sample", 0.3)
    chosen = {record.id for record in read_records(tmp_path / "out")}
    assert 0 < len(chosen) < 40
    for more in ((), ("--follow", "--looks", 1)):
        in_this_process("trace", "--resume", "out", *more, cwd=tmp_path)
        assert {record.id for record in read_records(tmp_path / "out")} == chosen
    trace(tmp_path, "--sample", 0.3, "--out", "once")
    assert {record.id for record in read_records(tmp_path / "once")} == chosen


@pytest.mark.parametrize("option", [("--looks", 1), ("--settle", 60), ("--window", 3), ("--alert", "exit")])
def test_an_option_of_following_is_refused_without_it(option: tuple[str, Any], tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, *option)
    assert (done.returncode, f"{option[0]} requires --follow" in done.stderr) == (2, True)


def test_an_alert_ends_following_with_the_code_of_a_gate(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    done = trace(tmp_path, *FOLLOW, "--looks", 50, "--fail-under", "tool_success=0.9")
    assert done.returncode == 1
    assert "ALERT: the rate by tool_success (low bound) is 0.7500, below 0.9" in done.stderr


def test_nobody_is_alerted_before_there_are_enough_runs(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    arguments = [*FOLLOW, "--looks", 1, "--window-min", 4, "--fail-under", "tool_success=0.9"]
    assert "ALERT" not in trace(tmp_path, *arguments).stderr


def test_a_webhook_is_told_of_an_alert_once_and_of_its_end(hook: Hook, tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    arguments = ("--window", 3, "--fail-under", "tool_success=0.9", "--alert", f"webhook:{hook.address}", "--looks", 2)
    done = trace(tmp_path, *FOLLOW, *arguments)
    assert done.returncode == 1, "its gate is not met at the end"
    posted = hook.posted
    assert [each["event"] for each in posted] == ["viva.alert"]
    assert posted[0]["rates"]["tool_success"] == 0.75
    assert (posted[0]["runs"], "below 0.9" in posted[0]["below"]) == (3, True)


def test_a_webhook_that_cannot_be_reached_is_told_and_stops_nothing(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    arguments = ("--fail-under", "tool_success=0.9", "--alert", "webhook:http://127.0.0.1:1/", "--looks", 2)
    done = trace(tmp_path, *FOLLOW, *arguments)
    assert "the alert could not be sent to webhook:http://127.0.0.1, and will be repeated" in done.stderr
    assert trace(tmp_path, "--follow", "--alert", "mail:me").returncode == 2


# Training


def test_training_data_are_chat_messages_with_their_provenance(tmp_path: Path) -> None:
    again = {**conversation("alpha", ("I guess.", "write", {})), "reward": 0.0, "trial": 1}
    save(tmp_path, [*TALKS, again])
    trace(tmp_path, "--evaluators", "reward,tool_success", "--out", "out")
    done = in_this_process("report", "out", "--format", "training", cwd=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert Counter(line["type"] for line in lines) == {"supervised": 1, "preference": 1, "reward": 4}
    [supervised] = [line for line in lines if line["type"] == "supervised"]
    assert [message["role"] for message in supervised["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    call = supervised["messages"][1]
    assert call["content"] == "I look first."
    assert call["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"a": 1}'}
    assert call["tool_calls"][0]["id"] == supervised["messages"][2]["tool_call_id"]
    assert supervised["provenance"]["case"] == "alpha"
    assert supervised["provenance"]["evaluators"] == ["reward", "tool_success"]
    [pair] = [line for line in lines if line["type"] == "preference"]
    assert pair["prompt"] == [{"role": "user", "content": "Please do alpha."}]
    assert (pair["chosen_score"], pair["rejected_score"]) == (1.0, 0.0)
    assert pair["chosen"][0]["content"] == "I look first."
    assert pair["rejected"][0]["content"] == "I guess."
    rewards = {line["provenance"]["run"]: line["reward"] for line in lines if line["type"] == "reward"}
    assert sorted(rewards.values()) == [0.0, 0.0, 0.0, 1.0]
    steps = [step for line in lines if line["type"] == "reward" for step in line["steps"]]
    assert Counter(step["label"] for step in steps) == {"succeeded": 4, "failed": 1}
    alone = in_this_process("report", "out", "--format", "training_preference", cwd=tmp_path)
    assert [json.loads(line)["type"] for line in alone.stdout.splitlines()] == ["preference"]


def test_figures_and_alerts_are_exported_as_metrics(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    with http_receiver() as received:
        arguments = ("--fail-under", "tool_success=0.9", "--alert", "otel", "--looks", 1)
        trace(tmp_path, *FOLLOW, *arguments, environment=received.environment)
    rates = {
        attributes(point)["viva.evaluator"]: point.as_double for point in received.points("viva.evals.rolling_rate")
    }
    assert rates == {"score": pytest.approx(1 / 3), "tool_success": 0.75}
    assert [point.as_int for point in received.points("viva.evals.alerts")] == [1]


def test_a_stored_run_is_judged_again_with_its_files(tmp_path: Path) -> None:
    save(tmp_path, TALKS)
    trace(tmp_path, "--out", "out")
    done = in_this_process("judge", "out", "--evaluators", "loops,tool_success", "--out", "judged", cwd=tmp_path)
    assert "evaluations/tool_success.csv" in done.stderr
    assert len(rows(tmp_path / "judged", "tool_success")) == 4
