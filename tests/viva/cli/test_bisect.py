"""`viva bisect`: the round after which a failed conversation no longer succeeds, whatever the agent's connection."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.journal.reader import read_records

ROUNDS = 8
FAULT = 5
AGENTS = """
import re
from viva import VirtualUser

def numbers(text):
    return sum(int(number) for number in re.findall(r"add (-?\\d+)", text))

class Careful(VirtualUser):
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.total = 0
    def get_reply_from_agent(self, message):
        self.total += numbers(message)
        return f"The sum is {self.total}."
    def save_state(self):
        return {"total": self.total}
    def load_state(self, state):
        self.total = state["total"]

class Slips(Careful):
    def get_reply_from_agent(self, message):
        if "add 5" in message:
            self.total -= 1
        return super().get_reply_from_agent(message)

class Plain(VirtualUser):
    total = 0
    def get_reply_from_agent(self, message):
        self.total += numbers(message)
        return f"The sum is {self.total}."

class PlainSlips(Plain):
    def get_reply_from_agent(self, message):
        if "add 5" in message:
            self.total -= 1
        return super().get_reply_from_agent(message)

class Told(VirtualUser):
    \"\"\"Knows only the conversation.\"\"\"
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.last = 0
    def load_conversation(self, messages):
        said = [each["content"] for each in messages if each["role"] == "assistant"]
        self.last = int(re.findall(r"-?\\d+", said[-1])[0])
    def get_reply_from_agent(self, message):
        self.last += numbers(message)
        return f"The sum is {self.last}."

class ToldSlips(Told):
    def get_reply_from_agent(self, message):
        if "add 5" in message:
            self.last -= 1
        return super().get_reply_from_agent(message)

class Unmakeable(VirtualUser):
    def __init__(self, task_description, app_dir=None, config_var=None):
        raise RuntimeError("no licence")
    def get_reply_from_agent(self, message):
        return ""
"""
ACP = Path(__file__).with_name("test_fork.py")


@pytest.fixture
def agents(desk: Desk) -> Desk:
    (desk.folder / "agents.py").write_text(AGENTS)
    total = sum(range(1, ROUNDS + 1))
    desk.case(
        task_description="Add the numbers.",
        script=[f"Please add {number}." for number in range(1, ROUNDS + 1)],
        scoring_points=[
            {"id": "total", "score_point": "The total is right.", "weight": 1, "check": {"contains": f" {total}."}},
            {"id": "begun", "score_point": "It speaks.", "weight": 1, "check": {"contains": "sum"}},
        ],
    )
    return desk


def fail(desk: Desk, spec: str, *more: str) -> None:
    desk.run("exam", "--agent", spec, *more)


def bisect(desk: Desk, *arguments: str, expect: int = 0, out: str = "forks") -> dict[str, Any]:
    words = ("bisect", "journal", "--sandbox", "process", "--out", out, "--json", *arguments)
    found: dict[str, Any] = json.loads(desk.viva(*words, expect=expect).stdout)
    return found


class Chat(BaseHTTPRequestHandler):
    """An endpoint that reads the last sum from the conversation; the model `slips` errs in one round."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [each["content"] for each in asked["messages"]]
        last = next((int(each[11:-1]) for each in reversed(texts[:-1]) if each.startswith("The sum is ")), 0)
        number = int(texts[-1].rstrip(".").split()[-1])
        total = last + number - (asked["model"] == "slips" and number == FAULT)
        message = {"role": "assistant", "content": f"The sum is {total}."}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def chat() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


# That each connection forks by each way, the tests of `viva replay --fork-at` say; what is searched is the same.
@pytest.mark.parametrize(
    ("stored", "agent", "by", "more"),
    [
        ("agents.py:Slips", "agents.py:Careful", "state", ()),
        ("agents.py:ToldSlips", "agents.py:Told", "conversation", ()),
        pytest.param("agents.py:Slips", "agents.py:Careful", "state", ("--isolate",), marks=pytest.mark.soak),
        pytest.param("agents.py:ToldSlips", "agents.py:Told", "conversation", ("--isolate",), marks=pytest.mark.soak),
        pytest.param("chat#slips", "chat#careful", "state", (), marks=pytest.mark.soak),
        pytest.param("chat#slips", "chat#careful", "conversation", ("--no-states",), marks=pytest.mark.soak),
        pytest.param("acp", "acp --forgetful", "state", (), marks=pytest.mark.soak),
    ],
)
def test_the_round_is_found_whatever_the_connection(
    agents: Desk, request: pytest.FixtureRequest, stored: str, agent: str, by: str, more: tuple[str, ...]
) -> None:
    if stored == "acp":
        source = ACP.read_text().partition('ACP_AGENT = """')[2].partition('"""')[0].replace("\\\\", "\\")
        source = source.replace("total = 0 if forgetful else stored(name)", "total = stored(name)")
        source = source.replace(
            "        keep(total, name)",
            '        total -= not forgetful and "add 5" in params["prompt"][0]["text"]\n        keep(total, name)',
        )
        (agents.folder / "sums.py").write_text(source)
        (agents.folder / "sessions").mkdir()
        spec = f"acp:{sys.executable} {agents.folder / 'sums.py'} {agents.folder / 'sessions'}"
        stored, agent = spec, spec + " --forgetful"
    if stored.startswith("chat"):
        chat: str = request.getfixturevalue("chat")
        stored, agent = stored.replace("chat", chat), agent.replace("chat", chat)
    fail(agents, stored, *more)
    found = bisect(agents, "--agent", agent, *more)
    assert (found["finding"], found["round"], set(found["by"])) == ("round", FAULT, {"start", by})
    assert found["runs"] <= 3 * 4
    assert (found["last_good"], found["first_bad"]) == ("The sum is 10.", "The sum is 14.")


def test_a_plain_agent_is_replayed_and_what_its_replies_show_is_all_that_is_claimed(agents: Desk) -> None:
    fail(agents, "agents.py:PlainSlips")
    found = bisect(agents, "--agent", "agents.py:Plain", expect=3)
    assert found["finding"] == "not_decided"
    assert f"could not be brought beyond round {FAULT - 1}" in found["why"]
    assert set(found["credible"]) <= set(range(FAULT, ROUNDS + 1))


def test_the_same_agent_fails_from_the_start_and_that_is_said(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    done = agents.viva("bisect", "journal", "--sandbox", "process", "--out", "forks", expect=0)
    assert "fails from the start as well" in " ".join(done.stdout.split())


def test_console_and_page_show_the_replies_side_by_side(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    words = ("bisect", "journal", "--agent", "agents.py:Careful", "--sandbox", "process", "--out", "forks")
    shown = " ".join(agents.viva(*words, expect=0).stdout.split())
    assert "round 5 of 8 decided" in shown
    assert "The sum is 10." in shown
    assert "The sum is 14." in shown
    agents.viva("report", "forks", "--format", "html", "--out", "page.html", expect=0)
    page = (agents.folder / "page.html").read_text()
    assert "Which round decided" in page
    for reply in ("The sum is 10.", "The sum is 14.", "The sum is 15."):
        assert f"<pre>{reply}</pre>" in page


def test_a_search_that_was_cut_short_goes_on_decides_the_same_and_pays_nothing_twice(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    whole = bisect(agents, "--agent", "agents.py:Careful", out="whole")
    bisect(agents, "--agent", "agents.py:Careful", "--concurrency", "1")
    file = agents.folder / "forks" / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if b'"event":"run"' in line]
    # What a kill leaves: five forks that ended, one that is not judged, and half a line.
    transcript = next(n for n in range(ends[4], len(lines)) if b'"event":"transcript"' in lines[n])
    file.write_bytes(b"".join(lines[: transcript + 1]) + lines[transcript + 1][:20])
    words = ("bisect", "--resume", "forks", "--json")
    again = json.loads(agents.viva(*words, expect=0).stdout)
    for key in ("finding", "round", "probability", "forks", "runs"):
        assert again[key] == whole[key]
    records = list(read_records(agents.folder / "forks"))
    assert len(records) == len({record.id for record in records}) == whole["runs"]
    assert {record.attempt for record in records} == {1}, "the conversation that had ended was only judged"
    before = file.read_bytes()
    assert json.loads(agents.viva(*words, expect=0).stdout)["round"] == FAULT
    assert file.read_bytes() == before


def test_a_scoring_point_can_be_what_succeeds(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    assert bisect(agents, "--agent", "agents.py:Careful", "--point", "total")["round"] == FAULT
    told = agents.viva("bisect", "journal", "--point", "begun", expect=2).stderr
    assert "succeeded at begun" in told
    told = agents.viva("bisect", "journal", "--point", "no", expect=2).stderr
    assert "no scoring point 'no'. Its points: total, begun." in told


def test_a_search_stops_at_its_largest_number_of_forks(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    found = bisect(agents, "--agent", "agents.py:Careful", "--max-runs", "4", expect=3)
    assert (found["finding"], found["runs"]) == ("not_decided", 4)
    assert FAULT in found["credible"]


def test_an_agent_that_cannot_be_made_decides_nothing(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    told = agents.viva("bisect", "journal", "--agent", "agents.py:Unmakeable", "--out", "forks", expect=2).stderr
    assert "no licence" in told


def test_mistakes_are_told(agents: Desk) -> None:
    fail(agents, "agents.py:Careful")
    for arguments, words in (
        (("journal",), "succeeded (score 1.00, threshold 1): there is no round at which it failed"),
        (("journal#nobody",), "no run 'nobody'"),
        (("nowhere",), "nowhere"),
        ((), "name the conversation that failed"),
        (("journal", "--agent", "agents.py:Nobody"), "succeeded"),
    ):
        assert words in agents.viva("bisect", *arguments, expect=2).stderr
    chat = {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "no"}]}
    (agents.folder / "chat.jsonl").write_text(json.dumps(chat) + "\n")
    agents.viva("trace", "chat:chat.jsonl", "--out", "recorded", "--evaluators", "operational")
    assert "is a recording" in agents.viva("bisect", "recorded", expect=2).stderr


def test_what_a_stranger_s_journal_names_is_not_run(agents: Desk) -> None:
    fail(agents, "agents.py:Slips")
    request = agents.folder / "journal" / "request.json"
    data = json.loads(request.read_text())
    request.write_text(json.dumps({key: value for key, value in data.items() if key != "signature"}))
    told = agents.viva("bisect", "journal", expect=2).stderr
    assert "does not have your signature" in told
    assert "--agent SPEC" in told
