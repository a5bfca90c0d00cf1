"""`viva init` writes files that work, tries them, and writes over nothing."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.viva.viva_command import VIVA, clean_environment, in_this_process, warm_trials

CASE = ("case", "cases/sum", "--task", 'Please add 17 and 25: "now" {{ n }}', "--expect", "it's 42")


def init(folder: Path, *arguments: str, expect: int = 0) -> str:
    """Run the command; return what it printed."""
    with warm_trials():
        done = in_this_process("init", *arguments, cwd=folder)
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def is_clean(*files: Path) -> None:
    """Ruff finds nothing in them, and would not format them differently."""
    for check in (("check", "--select", "A,B,E,F,I,N,W,UP,RUF"), ("format", "--check")):
        command = [sys.executable, "-m", "ruff", *check, "--isolated", "--line-length", "120", *map(str, files)]
        done = subprocess.run(command, cwd=files[0].parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_adapter_and_its_test_work_as_they_are(tmp_path: Path) -> None:
    printed = init(tmp_path, "adapter", "--name", "ShopAgent")
    assert "1 passed" in printed
    assert "viva run sum_1_to_50 --agent shop_agent.py:ShopAgent" in printed
    is_clean(tmp_path / "shop_agent.py", tmp_path / "test_shop_agent.py")


def test_a_case_is_valid_and_runs_with_hostile_words(tmp_path: Path) -> None:
    printed = init(tmp_path, *CASE)
    assert "valid, 2 scoring points" in printed
    assert "sum scored 1/3 = 0.33" in printed
    text = yaml.safe_load((tmp_path / "cases/sum/case.yaml").read_text())
    assert text["task_description"] == CASE[3]
    assert [point["check"] for point in text["scoring_points"]][1] == {"contains": CASE[5], "over": "any_round"}
    assert not any("eval_code" in point for point in text["scoring_points"]), "checks need neither Python nor a sandbox"


@pytest.mark.parametrize("task", ["Say: yes", "- no\n- really", "'", "{a: b}", "Grüße 😀", "null"])
def test_any_task_makes_a_valid_case(task: str, tmp_path: Path) -> None:
    assert "valid, 2 scoring points" in init(tmp_path, "case", "own", "--task", task, "--expect", "yes")
    assert yaml.safe_load((tmp_path / "own/case.yaml").read_text())["task_description"] == task


def test_a_suite_of_two_cases_runs_with_the_agent_that_is_named(tmp_path: Path) -> None:
    init(tmp_path, "adapter", "--name", "MyAgent")
    printed = init(tmp_path, "suite", "exams", "--task", "Say 42.", "--expect", "42", "--agent", "my_agent.py:MyAgent")
    assert "2 runs, mean score 1.0000" in printed


def test_a_workflow_names_the_agent_and_the_cases(tmp_path: Path) -> None:
    init(tmp_path, *CASE)
    assert "valid, 2 scoring points" in init(tmp_path, "ci", "--agent", "a.py:A@.venv", "--cases", "cases")
    workflow = yaml.safe_load((tmp_path / ".github/workflows/exams.yml").read_text())
    assert workflow["env"]["AGENT"] == "a.py:A@.venv"
    assert workflow["env"]["CASES"] == "cases"
    assert [step.get("name") for step in workflow["jobs"]["exams"]["steps"]].count("Run the exams") == 1


def test_nothing_is_written_over_without_permission(tmp_path: Path) -> None:
    file = tmp_path / "test_my_agent.py"
    file.write_text("mine")
    assert "test_my_agent.py already exists" in init(tmp_path, "adapter", "--name", "MyAgent", expect=2)
    assert file.read_text() == "mine"
    assert not (tmp_path / "my_agent.py").exists(), "all files or none"
    init(tmp_path, "adapter", "--name", "MyAgent", "--force")
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("adapter",), "--name is missing, and there is no terminal to ask on. For example: --name MyAgent"),
        (("adapter", "--name", "no class"), "'no class' cannot be the name of a class"),
        (("adapter", "--name", "A", "--path", "/chat"), "--path chooses an operation of the address given with --url"),
        (("adapter", "--name", "A", "--url", "shop"), "the address in --url names no host"),
        (("adapter", "--name", "A", "--url", "http://127.0.0.1:1"), "nothing listens at 127.0.0.1:1. Start the agent"),
        (("case",), "FOLDER is missing"),
        (("case", "new"), "--task is missing"),
        (("case", "new", "--task", "t", "--expect", " "), "neither may be empty"),
        (("suite", "new"), "--task is missing"),
        (("ci",), "--agent is missing"),
        (("ci", "--agent", "a.py:A", "--cases", "nowhere"), "there is no folder nowhere"),
        (("agent",), "No such command 'agent'"),
    ],
)
def test_a_mistake_is_a_usage_error_and_writes_nothing(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in init(tmp_path, *arguments, expect=2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_holds_one_case(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "exam.yaml").write_text("version: 0.1\n")
    assert "own already holds exam.yaml" in init(tmp_path, "case", "own", "--task", "t", "--expect", "e", expect=2)


def test_a_trial_that_fails_is_said_with_its_exit_code(tmp_path: Path) -> None:
    printed = init(tmp_path, *CASE, "--agent", "nowhere.py:Agent", expect=3)
    assert "there is no agent file nowhere.py" in printed
    assert "the trial failed" in printed


class Shop(BaseHTTPRequestHandler):
    """An agent with an API of its own, and a document that describes it."""

    document: ClassVar[dict[str, Any]] = {
        "openapi": "3.1.0",
        "paths": {
            "/health": {"get": {}},
            "/sessions/{id}": {"post": {"requestBody": {"content": {"application/json": {"schema": {}}}}}},
            "/chat": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}},
                    "responses": {
                        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Said"}}}}
                    },
                }
            },
        },
        "components": {
            "schemas": {
                "Ask": {
                    "type": "object",
                    "required": ["question", "language"],
                    "properties": {
                        "question": {"type": "string"},
                        "language": {"enum": ["en", "de"]},
                        "conversation_id": {"type": "string"},
                        "debug": {"type": "boolean"},
                    },
                },
                "Said": {
                    "type": "object",
                    "properties": {"data": {"$ref": "#/components/schemas/Data"}},
                },
                "Data": {"type": "object", "properties": {"answer": {"type": "string"}}},
            }
        },
    }
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "shop-1"}, {"id": "shop-2\nconnector: x"}]}
        documents = {"/openapi.json": self.document, "/v1/models": models}
        self.send(documents.get(self.path))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        words = asked["question"] if "question" in asked else asked["messages"][-1]["content"]
        message = {"role": "assistant", "content": words}
        self.send({"data": {"answer": words}} if "question" in asked else {"choices": [{"message": message}]})

    def send(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_openapi_document_becomes_an_agent_file_that_works(shop: str, tmp_path: Path) -> None:
    Shop.asked.clear()
    assert "1 passed" in init(tmp_path, "adapter", "--name", "Shop", "--url", shop)
    described = yaml.safe_load((tmp_path / "shop.yaml").read_text())
    assert described["request"]["path"] == "/chat"
    assert described["reply"] == {"text": "data.answer"}
    assert Shop.asked
    assert Shop.asked[0]["language"] == "en"
    assert Shop.asked[0]["conversation_id"]
    is_clean(tmp_path / "test_shop.py")


def test_an_openai_compatible_server_becomes_an_agent_file(shop: str, tmp_path: Path) -> None:
    assert "1 passed" in init(tmp_path, "adapter", "--name", "Shop", "--url", f"{shop}/v1")
    described = yaml.safe_load((tmp_path / "shop.yaml").read_text())
    assert described == {"connector": "http", "url": f"{shop}/v1", "model": "shop-1"}


def test_an_operation_that_takes_no_message_is_a_usage_error(shop: str, tmp_path: Path) -> None:
    printed = init(tmp_path, "adapter", "--name", "Shop", "--url", shop, "--path", "/health", expect=2)
    assert "/health does not take a JSON body" in printed
    assert "POST operations: /chat" in printed


def test_a_terminal_is_asked_for_what_is_missing(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"cases/own\nSay yes.\nyes\n")
    command = [str(VIVA), "init", "case"]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=theirs, capture_output=True, text=True, env=clean_environment(), timeout=300
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "What is the agent asked to do?" in done.stderr
    assert yaml.safe_load((tmp_path / "cases/own/case.yaml").read_text())["task_description"] == "Say yes."


def test_a_suite_has_a_name_and_a_gate_and_is_trusted(tmp_path: Path) -> None:
    init(tmp_path, "adapter", "--name", "MyAgent")
    words = ("suite", "cases", "--task", "Say 42.", "--expect", "42", "--agent", "my_agent.py:MyAgent")
    assert "viva suite exams" in init(tmp_path, *words)
    done = in_this_process("suite", "exams", "--sandbox", "process", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 runs, mean score 1.0000\n")
    file = tmp_path / "viva.yaml"
    file.write_text(file.read_text().replace("fail_under: 0.9", "fail_under: 1"))
    assert "is not trusted" in in_this_process("suite", "exams", cwd=tmp_path).stderr
    before = file.read_text()
    assert "viva.yaml exists, and stays as it is" in init(tmp_path, *words, "--force")
    assert file.read_text() == before


def test_a_folder_does_not_take_the_name_of_its_suite(tmp_path: Path) -> None:
    init(tmp_path, "suite", "exams", "--task", "Say 42.", "--expect", "42")
    assert list(yaml.safe_load((tmp_path / "viva.yaml").read_text())["suites"]) == ["all-exams"]


def test_the_workflow_of_a_named_suite_is_short(tmp_path: Path) -> None:
    assert "there is no viva.yaml in this folder" in init(tmp_path, "ci", "--suite", "exams", expect=2)
    (tmp_path / "viva.yaml").write_text("suites: {exams: {cases: echo}}")
    assert "has no suite 'exam'" in init(tmp_path, "ci", "--suite", "exam", expect=2)
    assert "omit the others" in init(tmp_path, "ci", "--suite", "exams", "--cases", "x", expect=2)
    init(tmp_path, "ci", "--suite", "exams")
    text = (tmp_path / ".github/workflows/exams.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["exams"]["steps"]
    assert steps[-1]["run"] == "viva suite exams --trust"
    assert len(text.splitlines()) < 15
