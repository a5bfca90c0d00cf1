"""`viva replay --fork-at`: a stored conversation goes on from the middle, and the record says by what means."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.journal.reader import StoredRun, read_runs

AGENTS = """
import json, os, re
from viva import VirtualUser

class Careful(VirtualUser):
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.total = 0
    def get_reply_from_agent(self, message):
        self.total += sum(int(number) for number in re.findall(r"add (-?\\d+)", message))
        return f"The sum is {self.total}."

class Stateful(Careful):
    def save_state(self):
        return {"total": self.total}
    def load_state(self, state):
        self.total = state["total"]

class Forgetful(Stateful):
    def get_reply_from_agent(self, message):
        self.total = 0
        return super().get_reply_from_agent(message)

class Async(Stateful):
    async def get_reply_from_agent(self, message):
        return Stateful.get_reply_from_agent(self, message)
    async def save_state(self):
        return {"total": self.total}
    async def load_state(self, state):
        self.total = state["total"]

class Refuses(Stateful):
    def load_state(self, state):
        raise RuntimeError("not mine")

class BreaksInRound7(Stateful):
    rounds = 0
    def save_state(self):
        self.rounds += 1
        return object() if self.rounds == 7 else {"total": self.total}

class Server(Careful):
    \"\"\"An agent whose sessions live elsewhere and can be forked, as those of coding agents.\"\"\"
    def __init__(self, task_description):
        super().__init__(task_description)
        self.folder = os.environ["SESSIONS"]
        self.session = self.new({"total": 0})
    def new(self, content):
        name = str(len(os.listdir(self.folder)))
        with open(os.path.join(self.folder, name), "w") as file:
            json.dump(content, file)
        return name
    def content(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return json.load(file)
    def get_reply_from_agent(self, message):
        self.total = self.content(self.session)["total"]
        reply = super().get_reply_from_agent(message)
        with open(os.path.join(self.folder, self.session), "w") as file:
            json.dump({"total": self.total}, file)
        return reply
    async def save_state(self):
        return {"session": self.new(self.content(self.session))}
    async def load_state(self, state):
        self.session = self.new(self.content(state["session"]))

class ForgetfulServer(Server):
    def get_reply_from_agent(self, message):
        with open(os.path.join(self.folder, self.session), "w") as file:
            json.dump({"total": 0}, file)
        return super().get_reply_from_agent(message)
"""


@pytest.fixture
def agents(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    (desk.folder / "agents.py").write_text(AGENTS)
    (desk.folder / "sessions").mkdir()
    monkeypatch.setenv("SESSIONS", str(desk.folder / "sessions"))
    return desk


def hold(desk: Desk, name: str, *more: str) -> StoredRun:
    """A stored conversation of 50 rounds."""
    record = desk.run("sum_1_to_50", "--agent", f"agents.py:{name}", *more)
    return next(read_runs(desk.folder / "journal", record["id"]))


def fork(desk: Desk, name: str, *more: str | Path, at: int = 25, expect: int = 0) -> StoredRun:
    arguments = ("--fork-at", str(at), "--against", f"agents.py:{name}", "--sandbox", "process", "--out", "forked")
    desk.viva("replay", "journal", *arguments, *more, expect=expect)
    (run,) = read_runs(desk.folder / "forked")
    return run


def replies(run: StoredRun) -> list[str | None]:
    return [round_.agent for round_ in run.transcript.rounds]


ACP_AGENT = """
import json, os, re, sys
FOLDER, forgetful = sys.argv[1], "--forgetful" in sys.argv
names = iter(range(10**6))
def stored(name):
    with open(os.path.join(FOLDER, name)) as file:
        return json.load(file)
def keep(total, name=None):
    name = name or f"{os.getpid()}-{next(names)}"
    with open(os.path.join(FOLDER, name), "w") as file:
        json.dump(total, file)
    return name
def write(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, params, result = asked.get("method"), asked.get("params", {}), {}
    if method == "initialize":
        able = {"sessionCapabilities": {"fork": {}}}
        result = {"protocolVersion": 1, "agentCapabilities": able, "agentInfo": {"name": "sums", "version": "1"}}
    elif method == "session/new":
        result = {"sessionId": keep(0)}
    elif method == "session/fork":
        result = {"sessionId": keep(stored(params["sessionId"]))}
    elif method == "session/prompt":
        name = params["sessionId"]
        total = 0 if forgetful else stored(name)
        total += sum(int(number) for number in re.findall(r"add (-?\\d+)", params["prompt"][0]["text"]))
        keep(total, name)
        said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"The sum is {total}."}}
        write(method="session/update", params={"sessionId": name, "update": said})
        result = {"stopReason": "end_turn"}
    if "id" in asked:
        write(id=asked["id"], result=result)
"""

ALL = 15
BEFORE = 1 + 2
"""The points of the first 25 rounds."""


@pytest.mark.parametrize(
    ("stored", "name", "by", "points", "differ"),
    [
        ("Stateful", "Stateful", "state", ALL, None),
        ("Stateful", "Async", "state", ALL, None),
        ("Stateful", "Forgetful", "state", BEFORE, None),
        ("Server", "Server", "state", ALL, None),
        ("Server", "ForgetfulServer", "state", BEFORE, None),
        ("Careful", "Careful", "replay", ALL, "0"),
        ("Careful", "Stateful", "replay", ALL, "0"),
        ("Stateful", "Careful", "replay", ALL, "0"),
        ("Careful", "Forgetful", "replay", 0, "24"),
    ],
)
def test_a_careful_agent_goes_on_and_a_forgetful_one_fails_from_the_fork_on(
    agents: Desk, stored: str, name: str, by: str, points: int, differ: str | None
) -> None:
    origin = hold(agents, stored)
    forked = fork(agents, name)
    assert forked.record is not None
    assert forked.record.points == points
    rounds = forked.transcript.rounds
    assert [round_.number for round_ in rounds] == list(range(1, 51))
    assert [round_.examiner for round_ in rounds] == [round_.examiner for round_ in origin.transcript.rounds]
    if by == "state":
        assert replies(forked)[:25] == replies(origin)[:25]
    told = {"journal": str(agents.folder / "journal"), "run": origin.id, "round": "25"}
    told |= {"agent": f"agents.py:{stored}", "by": by, **({} if differ is None else {"differ": differ})}
    told |= {"first_differing": "2"} if differ == "24" else {}
    assert forked.record.setting.forked_from == told
    (note,) = forked.transcript.notes
    assert note.startswith(f"forked from {origin.id} after round 25, ")
    assert ("replayed" in note) == (by == "replay")


@pytest.mark.parametrize(("flag", "points"), [("", ALL), (" --forgetful", BEFORE)])
def test_a_coding_agent_goes_on_in_a_fork_of_its_session(agents: Desk, flag: str, points: int) -> None:
    (agents.folder / "sums.py").write_text(ACP_AGENT)
    spec = f"acp:{sys.executable} {agents.folder / 'sums.py'} {agents.folder / 'sessions'}"
    record = agents.run("sum_1_to_50", "--agent", spec)
    assert record["points"] == ALL
    more = ("--against", spec + flag, "--sandbox", "process", "--out", "forked")
    agents.viva("replay", "journal", "--fork-at", "25", *more, expect=0)
    (forked,) = read_runs(agents.folder / "forked")
    assert forked.record is not None
    assert forked.record.points == points
    assert forked.record.setting.forked_from["by"] == "state"
    assert replies(forked)[24:26] == ["The sum is 325.", "The sum is 26." if flag else "The sum is 351."]


@pytest.mark.parametrize("by", ["state", "replay"])
def test_an_agent_in_a_process_of_its_own_is_forked_too(agents: Desk, by: str) -> None:
    hold(agents, "Stateful", "--isolate")
    forked = fork(agents, "Forgetful", "--isolate", "--fork-by", by)
    assert forked.record is not None
    assert forked.record.points == (BEFORE if by == "state" else 0)
    assert forked.record.setting.forked_from["by"] == by


def test_a_forked_run_is_judged_compared_and_forked_again_like_any_other(agents: Desk) -> None:
    hold(agents, "Stateful")
    fork(agents, "Forgetful")
    agents.viva("judge", "forked", "--out", "judged", "--sandbox", "process", expect=0)
    (judged,) = read_runs(agents.folder / "judged")
    assert judged.record is not None
    assert judged.record.points == BEFORE
    assert judged.record.setting.forked_from["by"] == "state"
    agents.viva("compare", "journal", "forked", expect=0)
    agents.viva(
        *("replay", "forked", "--fork-at", "20", "--against", "agents.py:Stateful"),
        *("--sandbox", "process", "--out", "again"),
        expect=0,
    )
    (again,) = read_runs(agents.folder / "again")
    assert again.record is not None
    assert again.record.points == ALL, "the states of the rounds before were carried over"


def test_the_output_says_by_what_means(agents: Desk) -> None:
    hold(agents, "Stateful")
    common = ("replay", "journal", "--fork-at", "25", "--sandbox", "process")
    by_state = agents.viva(*common, "--against", "agents.py:Stateful", expect=0).stdout
    assert "by the stored state" in " ".join(by_state.replace("│", " ").split())
    shown = agents.viva(*common, "--against", "agents.py:Forgetful", "--fork-by", "replay", expect=0).stdout
    words = " ".join(shown.replace("│", " ").split())
    assert "by replaying the earlier rounds (24 replayed replies differed from the stored)" in words
    done = agents.viva(*common, "--against", "agents.py:Stateful", "--json", expect=0)
    assert [each["by"] for each in json.loads(done.stdout)["forked"]] == ["state"]


def test_states_are_kept_unless_they_are_not_wanted(agents: Desk) -> None:
    run = hold(agents, "Stateful")
    names = [round_.state for round_ in run.transcript.rounds]
    assert all(name is not None and (agents.folder / "journal" / name).is_file() for name in names)
    assert json.loads((agents.folder / "journal" / str(names[9])).read_text()) == {"total": 55}
    for folder, name, more in (("off", "Stateful", ("--no-states",)), ("none", "Careful", ())):
        agents.run("sum_1_to_50", "--agent", f"agents.py:{name}", *more, out=folder)
        (without,) = read_runs(agents.folder / folder)
        assert {round_.state for round_ in without.transcript.rounds} == {None}
        assert not (agents.folder / folder / "texts").exists()


def test_a_state_that_cannot_be_kept_ends_no_exam(agents: Desk) -> None:
    run = hold(agents, "BreaksInRound7")
    assert run.record is not None
    assert run.record.points == ALL
    assert [round_.state is not None for round_ in run.transcript.rounds] == [True] * 6 + [False] * 44
    (note,) = run.transcript.notes
    assert note.startswith("no state was kept from round 7 on: save_state returned something that is not JSON")


def test_an_agent_that_fails_to_load_the_state_has_failed(agents: Desk) -> None:
    hold(agents, "Stateful")
    forked = fork(agents, "Refuses")
    assert forked.record is not None
    assert forked.record.outcome == "target_error"
    assert "load_state() failed" in str(forked.record.error)
    assert "not mine" in str(forked.record.error)


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_state_is_told_before_anything_is_said(agents: Desk, damage: str) -> None:
    run = hold(agents, "Stateful")
    file = agents.folder / "journal" / str(run.transcript.rounds[24].state)
    if damage == "missing":
        file.unlink()
    else:
        file.write_text('{"total": 1000000}')
    told = agents.viva("replay", "journal", "--fork-at", "25", "--against", "agents.py:Stateful", expect=2).stderr
    assert f"the state of round 25 of {run.id} cannot be loaded" in told
    assert "--fork-by replay" in told
    forked = fork(agents, "Stateful", "--fork-by", "replay")
    assert forked.record is not None
    assert forked.record.points == ALL


def swapped(desk: Desk, run: StoredRun, content: bytes | None, name: str | None = None) -> None:
    """Make the journal name another state of round 25, as a stranger could who sends it."""
    old = str(run.transcript.rounds[24].state)
    new = name or f"texts/{hashlib.sha256(content or b'').hexdigest()}.json"
    (file,) = (desk.folder / "journal").glob("*.jsonl")
    file.write_text(re.sub(r',"crc":"\w+"(?=}\n)', "", file.read_text().replace(old, new)))
    if content is not None:
        (desk.folder / "journal" / new).write_bytes(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "not JSON"),
        (b"[" * 100_000 + b"]" * 100_000, ""),
        (b'"' + b"x" * (5 * 1024 * 1024) + b'"', "is missing, or was changed"),
        (b'{"total": NaN}', ""),
        (b"\xff\xfe", ""),
    ],
)
def test_a_state_of_a_stranger_that_is_none_is_told_whatever_its_digest(
    agents: Desk, content: bytes, words: str
) -> None:
    run = hold(agents, "Stateful")
    swapped(agents, run, content)
    told = agents.viva("replay", "journal", "--fork-at", "25", "--against", "agents.py:Stateful", expect=2).stderr
    assert f"the state of round 25 of {run.id} cannot be loaded" in told
    assert words in told


@pytest.mark.parametrize("name", ["../secret.json", "/etc/hostname", "texts/../../secret.json", "texts/link.json"])
def test_a_state_is_read_from_nowhere_but_the_journal(agents: Desk, name: str) -> None:
    run = hold(agents, "Stateful")
    (agents.folder / "secret.json").write_text('{"total": 4711}')
    (agents.folder / "journal" / "texts" / "link.json").symlink_to(agents.folder / "secret.json")
    swapped(agents, run, None, name)
    done = agents.viva("replay", "journal", "--fork-at", "25", "--against", "agents.py:Stateful")
    assert done.returncode == 2
    assert "4711" not in done.stdout + done.stderr


def test_a_state_that_the_agent_does_not_understand_is_its_failure(agents: Desk) -> None:
    run = hold(agents, "Stateful")
    swapped(agents, run, b'["of another agent"]')
    forked = fork(agents, "Stateful")
    assert forked.record is not None
    assert forked.record.outcome == "target_error"
    assert "load_state() failed" in str(forked.record.error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fork-at", "51", "--against", "agents.py:Stateful"), "ended before the round of --fork-at"),
        (("--fork-at", "50", "--against", "agents.py:Stateful"), "no question of"),
        (("--fork-at", "0", "--against", "agents.py:Stateful"), "0 is not in the range"),
        (("--fork-at", "5"), "--fork-at requires --against"),
        (("--fork-by", "state", "--against", "agents.py:Stateful"), "--fork-by requires --fork-at"),
        (("--examiner", "script", "--against", "agents.py:Stateful"), "--examiner requires --fork-at"),
        (("--fork-at", "5", "--against", "agents.py:Nobody"), "has no 'Nobody'"),
        (("--fork-at", "5", "--against", "agents.py:Careful", "--fork-by", "state"), "the agent offers no load_state"),
        (("--fork-at", "5", "--examiner", "odd", "--against", "agents.py:Careful"), "must be one of script, model"),
    ],
)
def test_mistakes_are_told(agents: Desk, arguments: tuple[str, ...], words: str) -> None:
    hold(agents, "Stateful")
    assert words in agents.viva("replay", "journal", *arguments, expect=2).stderr


def test_a_round_or_run_that_is_not_there_is_told(agents: Desk) -> None:
    run = hold(agents, "Stateful")
    against = ("--against", "agents.py:Stateful")
    told = agents.viva("replay", f"journal#{run.id}", "--fork-at", "51", *against, expect=2).stderr
    assert f"{run.id} has 50 rounds; --fork-at 51 is beyond its end." in told
    told = agents.viva("replay", "journal#nobody", "--fork-at", "5", *against, expect=2).stderr
    assert "no run 'nobody'" in told
    held = hold_without_state(agents)
    told = agents.viva("replay", "plain", "--fork-at", "5", *against, "--fork-by", "state", expect=2).stderr
    assert f"the journal holds no state for round 5 of {held}" in told


def hold_without_state(desk: Desk) -> Any:
    return desk.run("sum_1_to_50", "--agent", "agents.py:Careful", out="plain")["id"]


def test_the_script_goes_on_from_its_position_whatever_the_conditions(agents: Desk) -> None:
    script = [
        "add 1",
        {"if_agent_says": "sum is 1", "say": "add 2"},
        "add 4",
        {"if_agent_says": "sum is 7", "say": "add 8"},
        {"if_agent_says": "sum is 4", "say": "Why so little?"},
        "add 16",
    ]
    agents.case(script=script)
    agents.run("exam", "--agent", "agents.py:Stateful")
    asked = {"Stateful": ["add 8", "add 16"], "Forgetful": ["Why so little?", "add 16"]}
    for name, rest in asked.items():
        out = ("--sandbox", "process", "--out", f"of-{name}")
        agents.viva("replay", "journal", "--fork-at", "2", "--against", f"agents.py:{name}", *out, expect=0)
        (forked,) = read_runs(agents.folder / f"of-{name}")
        said = [round_.examiner for round_ in forked.transcript.rounds]
        assert said == ["add 1", "add 2", "add 4", *rest]
        assert forked.setting.examiner == "script"


def test_stored_questions_go_on_if_they_are_wanted(agents: Desk) -> None:
    agents.case(script=["add 1", "add 2", {"if_agent_says": "sum is 3", "say": "add 4"}])
    agents.run("exam", "--agent", "agents.py:Stateful")
    forked = fork(agents, "Forgetful", "--examiner", "replay", at=1)
    assert [round_.examiner for round_ in forked.transcript.rounds] == ["add 1", "add 2", "add 4"]
    assert forked.setting.examiner == "replay"
