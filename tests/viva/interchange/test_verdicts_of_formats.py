"""Suites that were imported from each format run, and their checks pass and fail where the format's own would."""

from __future__ import annotations

import dataclasses
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import viva
from tests.viva.interchange.imports import SOURCES, all_cases
from viva.journal.reader import read_records

Table = dict[str, list[tuple[str, bool]]]
"""What the agent answers in each case, and whether the format lets it pass. Answers to several messages stand in lines;
`name arguments` after `TOOL` is a call."""

ADK_CONFIG = {"criteria": {"tool_trajectory_avg_score": 1.0}}
ADK = {
    "eval_set_id": "desk",
    "eval_cases": [
        {
            "eval_id": "renew",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "Renew L-17."}]},
                    "intermediate_data": {"tool_uses": [{"name": "renew", "args": {"loan": "L-17"}}]},
                },
                {
                    "user_content": {"parts": [{"text": "What do I owe?"}]},
                    "intermediate_data": {"tool_uses": [{"name": "fines", "args": {}}]},
                },
            ],
        }
    ],
}
ADK_VERDICTS: Table = {
    "renew": [
        ('TOOL renew {"loan": "L-17"}\nTOOL fines {}', True),
        ('TOOL fines {}\nTOOL renew {"loan": "L-17"}', False),
        ('TOOL renew {"loan": "L-18"}\nTOOL fines {}', False),
        ('TOOL renew {"loan": "L-17", "days": 3}\nTOOL fines {}', False),
        ("Done.\nNothing.", False),
    ]
}
GOLDENS = [
    {
        "name": "prices",
        "input": "What does it cost?",
        "expected_tools": [{"name": "prices", "inputParameters": {"place": "tower"}}, {"name": "log"}],
    }
]
GOLDEN_VERDICTS: Table = {
    "prices": [
        ('TOOL prices {"place": "tower"} TOOL log {}', True),
        ('TOOL prices {"place": "lake"} TOOL log {}', False),
        ('TOOL prices {"place": "tower"}', False),
    ]
}
SAMPLES = [{"input": "Capital of Peru?", "ideal": ["Lima", "Ciudad de los Reyes"]}]
OPENAI_VERDICTS: dict[str, list[tuple[str, bool]]] = {
    "Match": [("Lima it is.", True), ("It is Lima.", False), ("Ciudad de los Reyes", True)],
    "Includes": [("It is Lima.", True), ("It is lima.", False), ("Cusco", False)],
    "FuzzyMatch": [("it is LIMA.", True), ("Cusco", False)],
    "": [("Lima", True), ("Lima.", False)],
}
INSPECT = [
    {"id": "sum", "input": "2 + 2?", "target": "4"},
    {"id": "tree", "input": "Which is a tree?", "choices": ["oak", "moss"], "target": "A"},
    {"id": "any", "input": [{"role": "user", "content": "Say hello."}], "target": ["hello", "hi"]},
]
INSPECT_VERDICTS: Table = {
    "sum": [("It is 4.", True), ("It is 5.", False)],
    "tree": [("ANSWER: A", True), ("ANSWER: B", False), ("A tree", False)],
    "any": [("Oh HI there", True), ("Good day", False)],
}
EVALUATORS: list[tuple[Any, list[tuple[str, bool]]]] = [
    ({"Equals": "Oslo"}, [("Oslo", True), ("Oslo.", False), ("oslo", False)]),
    ({"Equals": {"value": {"a": 1}}}, [('{"a": 1}', True), ('{"a": 2}', False), ("a", False)]),
    ("EqualsExpected", [("Bergen", True), ("Oslo", False)]),
    ({"Contains": "Oslo"}, [("It is Oslo.", True), ("It is oslo.", False)]),
    ({"Contains": {"value": "OSLO", "case_sensitive": False}}, [("It is Oslo.", True), ("Bergen", False)]),
    ({"Contains": {"value": {"a": 1, "b": "x"}}}, [('{"a": 1, "b": "x", "c": 2}', True), ('{"a": 1}', False)]),
    ({"IsInstance": "dict"}, [('{"a": 1}', True), ("[1]", False), ("a", False)]),
    ({"IsInstance": "list"}, [("[1]", True), ('{"a": 1}', False)]),
    ({"MaxDuration": 60.0}, [("Oslo", True)]),
    ({"ToolCorrectness": {"expected_tools": ["a", "b"]}}, [("TOOL a {} TOOL b {}", True), ("TOOL a {}", False)]),
    (
        {"ToolCorrectness": {"expected_tools": ["a"], "allow_extra": True}},
        [("TOOL b {} TOOL a {}", True), ("TOOL b {}", False)],
    ),
    ({"ToolCorrectness": {"expected_tools": ["a"]}}, [("TOOL a {}", True), ("TOOL a {} TOOL b {}", False)]),
    (
        {"TrajectoryMatch": {"expected_trajectory": ["a", "b"], "order": "exact"}},
        [("TOOL a {} TOOL b {}", True), ("TOOL a {} TOOL c {} TOOL b {}", False)],
    ),
    (
        {"TrajectoryMatch": {"expected_trajectory": ["a", "b"], "order": "in_order"}},
        [("TOOL a {} TOOL c {} TOOL b {}", True), ("TOOL b {} TOOL a {}", False)],
    ),
    (
        {"TrajectoryMatch": {"expected_trajectory": ["a", "b"], "order": "any_order"}},
        [("TOOL b {} TOOL a {}", True), ("TOOL a {}", False)],
    ),
    (
        {"ArgumentCorrectness": {"tool_name": "a", "expected_arguments": {"x": 1}}},
        [('TOOL a {"x": 1, "y": 2}', True), ('TOOL a {"x": 2}', False)],
    ),
    (
        {"ArgumentCorrectness": {"tool_name": "a", "expected_arguments": {"x": 1}, "match_mode": "exact"}},
        [('TOOL a {"x": 1}', True), ('TOOL a {"x": 1, "y": 2}', False)],
    ),
    ({"MaxToolCalls": 1}, [("TOOL a {}", True), ("TOOL a {} TOOL b {}", False)]),
]
PYDANTIC = {
    "cases": [
        {"name": f"e{number}", "inputs": "Well?", "expected_output": "Bergen", "evaluators": [evaluator]}
        for number, (evaluator, _) in enumerate(EVALUATORS)
    ]
}
PYDANTIC_VERDICTS: Table = {f"e{number}": answers for number, (_, answers) in enumerate(EVALUATORS)}
TAU2 = [
    {
        "id": "gym",
        "user_scenario": {"instructions": "You want to freeze your contract."},
        "evaluation_criteria": {
            "actions": [{"action_id": "1", "name": "freeze", "arguments": {"member": "M-330"}}],
            "communicate_info": ["2027-01"],
            "reward_basis": ["ACTION", "COMMUNICATE"],
        },
    }
]
TAU2_VERDICTS: Table = {
    "gym": [
        ('Frozen until 2027-01. TOOL freeze {"member": "M-330"}', True),
        ('Frozen. TOOL freeze {"member": "M-330"}', False),
        ("Frozen until 2027-01.", False),
        ('Frozen until 2027-01. TOOL freeze {"member": "M-331"}', False),
    ]
}


class Told(viva.VirtualUser):
    """An agent that answers what it was told to answer, line by line."""

    told = ""

    def get_reply_from_agent(self, message: str) -> viva.Reply:
        self.lines = getattr(self, "lines", None) or self.told.split("\n")
        text, *calls = [part.strip() for part in self.lines.pop(0).split("TOOL ")]
        steps = tuple(
            viva.Step(f"s{number}", viva.StepKind.TOOL, tool=name, tool_input=json.loads(arguments))
            for number, (name, _, arguments) in enumerate(call.partition(" ") for call in calls)
        )
        return viva.Reply(text or "Done.", steps=steps)


def verdicts(tmp_path: Path, source: Path, table: Table, format_name: str | None = None) -> dict[tuple[str, str], bool]:
    """Import a source, run its cases with each answer, and return which runs had the full score."""
    viva.import_cases(source, tmp_path / "cases", format=format_name)
    cases = {case.row or case.entry or case.name: case for case in all_cases(tmp_path / "cases")}
    if len(table) == 1 and not table.keys() & cases.keys():
        cases = dict(zip(table, cases.values(), strict=True))
    assert cases.keys() == table.keys()
    found = {}
    for number in range(max(map(len, table.values()))):
        chosen = {name: answers[number][0] for name, answers in table.items() if number < len(answers)}
        for name, answer in chosen.items():
            agent = type("Told", (Told,), {"told": answer})
            case = cases[name]
            if not case.script:  # a model would examine; here, one message is enough
                case = dataclasses.replace(case, script=(viva.ScriptLine("Well?"),), opening=None)
            record = viva.examine(case, agent)
            assert record.score is not None, record.outcome
            found[name, answer] = record.score == 1
    return found


def expected(table: Table) -> dict[tuple[str, str], bool]:
    return {(name, answer): passes for name, answers in table.items() for answer, passes in answers}


@pytest.mark.parametrize(
    ("name", "document", "table"),
    [
        ("goldens.json", GOLDENS, GOLDEN_VERDICTS),
        ("samples.jsonl", INSPECT, INSPECT_VERDICTS),
        ("dataset.json", PYDANTIC, PYDANTIC_VERDICTS),
        ("tasks.json", TAU2, TAU2_VERDICTS),
        ("desk.evalset.json", ADK, ADK_VERDICTS),
    ],
)
def test_checks_decide_as_the_source_would(name: str, document: Any, table: Table, tmp_path: Path) -> None:
    source = tmp_path / "source" / name
    source.parent.mkdir()
    source.write_text("\n".join(map(json.dumps, document)) if name.endswith("l") else json.dumps(document))
    if document is ADK:
        (source.parent / "test_config.json").write_text(json.dumps(ADK_CONFIG))
    assert verdicts(tmp_path, source, table) == expected(table)


@pytest.mark.parametrize("kind", OPENAI_VERDICTS)
def test_classes_of_evals_decide_as_they_do_there(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "s.jsonl").write_text("\n".join(map(json.dumps, SAMPLES)))
    spec = {"capitals.dev": {"class": f"evals.elsuite.basic.x:{kind}", "args": {"samples_jsonl": "s.jsonl"}}}
    (source / "e.yaml").write_text(yaml.safe_dump(spec))
    table = {"peru": OPENAI_VERDICTS[kind]}
    found = verdicts(tmp_path, source / ("e.yaml" if kind else "s.jsonl"), table, "openai-evals")
    assert found == expected(table)


def test_samples_of_a_log_decide_as_the_dataset_does(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}))
        for sample in INSPECT:
            whole = {"epoch": 1, "messages": [], "scores": {"s": {"value": "C"}}, "choices": None, **sample}
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(whole))
    assert verdicts(tmp_path, tmp_path / "log.eval", INSPECT_VERDICTS) == expected(INSPECT_VERDICTS)


class Counter(viva.VirtualUser):
    """An agent that writes a number into a file."""

    number = "3"

    def get_reply_from_agent(self, message: str) -> str:
        assert self.workspace is not None
        (self.workspace / "count.txt").write_text(self.number)
        return "Done."


def test_the_test_of_a_harbor_task_runs_in_the_sandbox_and_decides(tmp_path: Path) -> None:
    shutil.copytree(SOURCES / "harbor" / "count-lines", tmp_path / "count-lines")
    viva.import_cases(tmp_path / "count-lines", tmp_path / "cases")
    wrong = type("Wrong", (Counter,), {"number": "4"})
    viva.run_suite(tmp_path / "cases", {"right": Counter, "wrong": wrong}, out=tmp_path / "journal")
    scores = {record.setting.agent: record.score for record in read_records(tmp_path / "journal")}
    assert scores == {"right": 1.0, "wrong": 0.0}
