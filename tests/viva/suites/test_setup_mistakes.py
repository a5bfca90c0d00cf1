"""What the user set up wrongly is told at once, and no run is spent on it; what breaks later counts as it did."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator

import pytest

from tests.model_server import FLAGGED, Garbage, ModelServer, ServerError, Unauthorized, sequence
from tests.viva.conftest import Desk, point
from viva.adapters.connectors.http.connector import look
from viva.errors import SetupError
from viva.exam.agent_health import FAILURES_IN_A_ROW
from viva.journal.reader import read_records
from viva.models.address import WAITS
from viva.records.run_record import Outcome

CHECK = [point("assert 'swordfish' not in str(rounds)")]


def suite(desk: Desk, cases: int = 4) -> str:
    """So many cases under one folder."""
    (desk.folder / "cases").mkdir()
    for number in range(cases):
        desk.case(f"cases/c{number}", scoring_points=CHECK, script=["Hello."], config_var={"number": number})
    return "cases"


def records(desk: Desk) -> list[Outcome]:
    return [record.outcome for record in read_records(desk.folder / "journal")]


SUITE = ("--sandbox", "process", "--out", "journal", "--concurrency", "1")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_an_address_where_nothing_listens_is_found_before_the_first_run(desk: Desk, closed_port: int) -> None:
    agent = f"http://127.0.0.1:{closed_port}/v1#m"
    done = desk.viva("suite", suite(desk), "--agent", agent, *SUITE, expect=2)
    assert f"nothing listens at 127.0.0.1:{closed_port}" in done.stderr
    assert "--agent" in done.stderr
    assert not (desk.folder / "journal").exists(), "a mistake in what was asked for leaves no journal behind"


async def test_a_host_that_is_not_there_is_found_and_so_is_a_name_server_that_stays_asleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault, tries = socket.gaierror(socket.EAI_NONAME, "Name or service not known"), 0

    async def connect(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise fault

    monkeypatch.setattr(asyncio, "open_connection", connect)
    with pytest.raises(SetupError, match=r"there is no host 'no-such-host\.invalid'"):
        await look("http://no-such-host.invalid/v1")
    fault = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    with pytest.raises(SetupError, match=r"cannot resolve 'no-such-host\.invalid' now"):
        await look("http://no-such-host.invalid/v1")
    assert tries == 1 + len(WAITS), "it was tried several times, and the name that does not exist once"
    fault = OSError(errno.ENETUNREACH, "Network is unreachable")
    await look("http://no-such-host.invalid/v1")


@pytest.mark.parametrize("errors", [1, 2])
@pytest.mark.parametrize("kind", ["asleep", "refused"])
async def test_a_server_or_name_server_that_is_just_starting_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, errors: int, kind: str
) -> None:
    asleep = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    fault = asleep if kind == "asleep" else ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed")
    faults = iter([fault] * errors)

    class Writer:
        def close(self) -> None: ...

    async def connect(*_: object) -> tuple[None, Writer]:
        if (found := next(faults, None)) is not None:
            raise found
        return None, Writer()

    monkeypatch.setattr(asyncio, "open_connection", connect)
    await look("http://models.example/v1")
    assert next(faults, None) is None


@pytest.mark.parametrize(
    ("status", "words", "named"),
    [
        (401, "no", "VIVA_AGENT_API_KEY"),
        (403, "no", "VIVA_AGENT_API_KEY"),
        (403, "Your account has been flagged", "VIVA_AGENT_API_KEY"),
        (404, "no", "after #"),
    ],
)
def test_an_endpoint_that_refuses_from_the_start_is_a_mistake_that_names_what_to_set(
    desk: Desk, status: int, words: str, named: str
) -> None:
    with ModelServer({"m": ServerError(status, words)}) as server:
        done = desk.viva("suite", suite(desk), "--agent", f"{server.url}#m", *SUITE, expect=2)
        assert len(server.requests) == 1, "no other run was spent on it"
        assert str(status) in done.stderr
        assert named in done.stderr
        assert "viva suite --resume" in done.stderr
        assert records(desk) == []
        server.parts["m"] = "Hello."
        desk.viva("suite", "--resume", "journal", expect=0)
    assert records(desk) == [Outcome.SCORED] * 4


def test_an_endpoint_whose_filter_refuses_what_it_is_asked_is_charged_and_no_key_is_asked_for(desk: Desk) -> None:
    with ModelServer({"m": FLAGGED}) as server:
        done = desk.viva("suite", suite(desk, 2), "--agent", f"{server.url}#m", *SUITE, expect=0)
    assert records(desk) == [Outcome.TARGET_ERROR] * 2
    assert "VIVA_AGENT_API_KEY" not in done.stdout + done.stderr


def test_one_that_begins_to_refuse_is_charged_and_left_after_a_few_runs(desk: Desk) -> None:
    with ModelServer({"m": sequence("Hello.", "Hello.", then=Unauthorized())}) as server:
        done = desk.viva("suite", suite(desk, 9), "--agent", f"{server.url}#m", *SUITE, expect=3)
        assert len(server.requests) == 2 + FAILURES_IN_A_ROW
        assert records(desk) == [Outcome.SCORED] * 2 + [Outcome.TARGET_ERROR] * FAILURES_IN_A_ROW
        assert f"could not be reached in {FAILURES_IN_A_ROW} runs in a row" in done.stderr
        assert "left out: 4 runs" in done.stderr
        server.parts["m"] = "Hello."
        desk.viva("suite", "--resume", "journal", expect=0)
    assert len(records(desk)) == 9


def test_another_agent_goes_on_where_one_cannot_be_reached(desk: Desk) -> None:
    good = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    with ModelServer({"m": sequence("Hello.", then=ServerError(403))}) as server:
        desk.viva("suite", suite(desk, 6), "--agent", f"{server.url}#m", "--agent", good, *SUITE, expect=3)
    found = [record for record in read_records(desk.folder / "journal") if record.agent == good]
    assert [record.outcome for record in found] == [Outcome.SCORED] * 6


@pytest.mark.parametrize("isolate", [(), ("--isolate",)])
def test_a_class_whose_every_construction_fails_is_a_mistake(desk: Desk, isolate: tuple[str, ...]) -> None:
    agent = desk.agent("""
        def __init__(self, task_description):
            with open('made', 'a') as made: made.write('.')
            self.key = os.environ['TOOL_SERVER_KEY']
        def get_reply_from_agent(self, message): return 'Hello.'
    """)
    done = desk.viva("suite", suite(desk, 9), "--agent", agent, *SUITE, *isolate, expect=2)
    assert "agent.py:9: KeyError: 'TOOL_SERVER_KEY'" in done.stderr
    assert "environment variable" in done.stderr
    assert records(desk) == []
    assert len((desk.folder / "made").read_text()) <= 4
    one = desk.viva("run", "cases/c0", "--agent", agent, "--sandbox", "process", "--fail-under", "1", expect=2)
    assert "Every construction fails" in one.stderr


@pytest.mark.parametrize("bad", [0, 2])
def test_a_case_that_a_class_cannot_stand_is_the_agents_failure(desk: Desk, bad: int) -> None:
    agent = desk.agent(f"""
        def __init__(self, config_var):
            if config_var['number'] == {bad}: raise ValueError('not this one')
        def get_reply_from_agent(self, message): return 'Hello.'
    """)
    desk.viva("suite", suite(desk, 3), "--agent", agent, *SUITE, expect=0)
    found = {record.subject: (record.outcome, record.low) for record in read_records(desk.folder / "journal")}
    assert found.pop(f"c{bad}") == (Outcome.TARGET_ERROR, 0.0)
    assert set(found.values()) == {(Outcome.SCORED, 1.0)}


@pytest.mark.parametrize("role", ["examiner", "judge"])
def test_a_model_key_that_is_refused_is_a_mistake_and_a_held_conversation_is_kept(desk: Desk, role: str) -> None:
    case = desk.case(scoring_points=[point(None)], script=["Hello."] if role == "judge" else None)
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    with ModelServer({"m": Unauthorized()}) as server:
        environment = {"OPENAI_API_KEY": "sk-wrong-key", "OPENAI_BASE_URL": server.url}
        model = ("--model", "openai:m", *(("--examiner", "script") if role == "judge" else ()))
        done = desk.viva("suite", case, "--agent", agent, *model, *SUITE, environment=environment, expect=2)
    assert "OPENAI_API_KEY" in done.stderr
    assert "sk-wrong-key" not in done.stderr
    assert (desk.folder / "journal").exists() == (role == "judge"), "nothing was said, so there is nothing to resume"
    if role == "judge":
        assert records(desk) == []
        assert "transcript" in desk.kinds()


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_reply_time_out_names_the_last_fault_that_was_met(desk: Desk, status: int) -> None:
    with ModelServer({"m": ServerError(status)}) as server:
        record = desk.run(desk.case(), "--agent", f"{server.url}#m", "--reply-timeout", "2")
    assert record["stop"] == "timeout"
    assert "no reply within 2 s" in record["error"]
    assert str(status) in record["error"]


def test_a_page_instead_of_an_answer_is_named_when_the_time_is_up(desk: Desk) -> None:
    with ModelServer({"m": Garbage()}) as server:
        record = desk.run(desk.case(), "--agent", f"{server.url}#m", "--reply-timeout", "2")
    assert "the last attempt failed: " in record["error"]
    assert "no reply" in record["error"]
