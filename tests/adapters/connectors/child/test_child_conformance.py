"""An agent in a process of its own is examined just as one in Viva's: same replies, same errors, same words."""

from __future__ import annotations

import datetime
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.connectors.child.child_agents import PLAIN
from tests.adapters.connectors.child.child_connectors import open_agent
from viva.adapters import Reply, Step, StepKind, Usage, VirtualUser
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside import stand_ins
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError, SetupError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent_of_mine.py"
    path.write_text(PLAIN)
    return path


async def say(file: Path, connector: tuple[str, bool], workspace: Path, message: str, name: str = "Sync") -> Reply:
    session = await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    try:
        return await session.reply(message, 20)
    finally:
        assert await session.close() is None


def line_of(words: str) -> str:
    """Where these words stand in the agent's file."""
    return f"agent_of_mine.py:{PLAIN[: PLAIN.index(words)].count(chr(10)) + 1}"


SAID = {
    "hello": "HELLO",
    "arguments": "('the task', 'the/app', {'llm.model': 'm'})",
    "verbose": "True",
    "surrogate": "lone \\ud800 one",
    "": "",
    "größer \x00 \ud800 ok": "GRÖSSER \x00 \\ud800 OK",
    "x" * 1_000_000: "X" * 1_000_000,
}
WORDS = {
    "raise": f"{line_of('the tool server')}: ValueError: the tool server went away",
    "raise empty": f"{line_of('raise KeyError()')}: KeyError",
    "raise unprintable": f"{line_of('raise Unprintable()')}: Unprintable: (its text cannot be shown)",
    "raise timeout": f"{line_of('raise TimeoutError(')}: TimeoutError: mine",
    "exit": f"{line_of('raise SystemExit(3)')}: RuntimeError: SystemExit: 3",
    "int": "get_reply_from_agent returned int, not text or a Reply",
    "none": "get_reply_from_agent returned NoneType, not text or a Reply",
    "bad steps": "get_reply_from_agent returned a Reply whose steps are not a list of Step",
    "bad text": "get_reply_from_agent returned a Reply whose text is int, not text",
}


@pytest.mark.parametrize("name", ["Sync", "Async", "Later"])
async def test_replies_and_failures_are_the_same_through_every_connector(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str
) -> None:
    session = await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    heard: dict[str, str] = {}
    for message in [*SAID, *WORDS]:
        try:
            heard[message] = (await session.reply(message, 20)).text
        except AgentError as error:
            heard[message] = str(error)
    assert heard == {**SAID, **WORDS}
    assert await session.close() is None


@pytest.mark.parametrize("name", ["Sync", "Async", "Later"])
async def test_a_reply_with_everything_comes_through_whole(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str
) -> None:
    step = Step(
        "s1",
        StepKind.MODEL,
        "s0",
        "planner",
        "saw",
        "thought",
        "plan",
        "search",
        {"q": [1, None, "x"]},
        "found",
        "oops",
        ("a.png",),
        "m-1",
        Usage(3, 4, 1, 1, 1, 2, None),
        12.5,
        0.25,
        {"span": {"deep": [1]}},
    )
    expected = Reply("with steps", (step,), Usage(6, 7, calls=2, cost=None), ("b.png",))
    reply = await say(file, connector, workspace, "reply", name)
    # The bare environment's classes are other classes; what arrives is Viva's.
    assert reply == expected
    assert type(reply.steps[0]) is Step


async def test_an_agent_that_cancels_itself_is_told_so(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    with pytest.raises(
        AgentError, match=rf"^{line_of('await asyncio.sleep(0)')}: RuntimeError: it cancelled its own task$"
    ):
        await say(file, connector, workspace, "?", "Cancels")


async def test_the_workspace_is_the_runs_own_unless_the_agent_has_one(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    assert (await say(file, connector, workspace, "workspace")).text == str(workspace)
    await say(file, connector, workspace, "save")
    assert (workspace / "saved.txt").read_text() == "kept"
    session = await open_agent(f"{file}:OwnFolder{connector[0]}", workspace, isolate=connector[1])
    assert session.workspace == workspace / "own"
    await session.close()


async def test_an_object_that_knows_nothing_of_viva_and_a_function_will_do(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    assert (await say(file, connector, workspace, "?", "Duck")).text == "quack"
    assert (await say(file, connector, workspace, "?", "made_by_a_function")).text == "['app_dir', 'config_var']"


@pytest.mark.parametrize("name", ["Closes", "ClosesAsync"])
async def test_an_agent_is_closed_exactly_once(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str
) -> None:
    session = await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    await session.reply("hello", 20)
    assert [await session.close(), await session.close()] == [None, None]
    assert (workspace / "closed").read_text() == "x"


async def test_what_close_raises_is_reported(file: Path, connector: tuple[str, bool], workspace: Path) -> None:
    session = await open_agent(f"{file}:Closes{connector[0]}", workspace, isolate=connector[1])
    await session.reply("raise", 20)
    assert await session.close() == f"close() failed: {line_of('no end')}: ValueError: no end"


async def test_a_constructor_that_raises_is_the_agents_failure(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    words = f"its construction failed: {line_of('no key')}: ValueError: no key"
    with pytest.raises(AgentError, match=f"^{words}$"):
        await open_agent(f"{file}:Broken{connector[0]}", workspace, isolate=connector[1])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Syncc", "has no 'Syncc'. Did you mean .*:Sync?"),
        ("NoMethod", "NoMethod has no get_reply_from_agent"),
        ("WantsMore", "WantsMore requires colour when it is constructed"),
        ("not_a_class", "not_a_class in .* is not a class"),
    ],
)
async def test_the_users_mistakes_are_found_before_the_first_message(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str, words: str
) -> None:
    # What a process of its own says after the first look is the agent's word, and its failure.
    kind: type[Exception] = AgentError if name == "WantsMore" and connector != ("", False) else SetupError
    with pytest.raises(kind, match=words):
        await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import no_such_thing", r":1 cannot be imported: ModuleNotFoundError: No module named 'no_such_thing'\."),
        ("x = 1\n1 / 0", r":2 cannot be imported: ZeroDivisionError"),
        ("def", "cannot be imported: SyntaxError"),
        ("raise SystemExit(4)", ":1 cannot be imported: SystemExit: 4"),
    ],
)
def test_a_file_that_cannot_be_imported_is_the_users_to_mend(
    tmp_path: Path, connector: tuple[str, bool], source: str, words: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(source)
    with pytest.raises(SetupError, match=words):
        load_agent(f"{file}:Agent{connector[0]}", isolate=connector[1])


def test_the_agents_version_is_found(file: Path, connector: tuple[str, bool]) -> None:
    agent = load_agent(f"{file}:Sync{connector[0]}", isolate=connector[1])
    assert (agent.name, agent.version) == ("Sync", "7.1")


async def test_odd_attributes_of_a_step_become_what_can_be_stored(
    file: Path, bare_environment: Path, workspace: Path
) -> None:
    reply = await say(file, (f"@{bare_environment}", False), workspace, "odd attributes")
    assert reply.steps[0].attributes == {"set": [1], "path": "x/y", "5": "<odd>"}


async def test_config_var_arrives_untouched(file: Path, bare_environment: Path, workspace: Path) -> None:
    config = {"day": datetime.date(2024, 5, 1), "list": [1, {"x": None}], 3: "number"}
    agent = load_agent(f"{file}:Sync@{bare_environment}")
    session = await open_session(agent.factory, AgentArguments("t", None, config), 20)
    assert (await session.reply("arguments", 20)).text == repr(("t", None, config))
    await session.close()


async def test_an_agent_finds_what_lies_beside_it(tmp_path: Path, bare_environment: Path, workspace: Path) -> None:
    """Also modules with the names of Viva's packages, by plain and by relative imports."""
    (tmp_path / "records.py").write_text("WHOSE = 'the records of mine'")
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "__init__.py").write_text("")
    (tmp_path / "adapters" / "radio.py").write_text("KIND = 'radio'")
    (tmp_path / "errors.py").write_text("WHOSE = 'the errors of mine'")
    (tmp_path / "neighbour.py").write_text("NAME = 'neighbour'")
    file = tmp_path / "agent.py"
    file.write_text(
        "import errors, records\n"
        "from viva import VirtualUser\n"
        "from viva.adapters.virtual_user import VirtualUser as Same\n"
        "from adapters.radio import KIND\n"
        "from .neighbour import NAME\n"
        "class Agent(VirtualUser):\n"
        "    def get_reply_from_agent(self, message):\n"
        "        return f'{records.WHOSE}, {errors.WHOSE}, {NAME}, {KIND}, {Same is VirtualUser}'\n"
    )
    for connector in (("", True), (f"@{bare_environment}", False)):
        reply = await say(file, connector, workspace, "?", "Agent")
        assert reply.text == "the records of mine, the errors of mine, neighbour, radio, True"


async def test_an_agent_of_a_module_is_found_from_the_current_folder(
    tmp_path: Path, bare_environment: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "deep.py").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    session = await open_agent(f"pack.deep:Sync@{bare_environment}", workspace)
    assert (await session.reply("hello", 20)).text == "HELLO"
    await session.close()
    with pytest.raises(SetupError, match=r"no module 'pack\.shallow' here or in the agent's environment"):
        load_agent(f"pack.shallow:Sync@{bare_environment}")


async def test_records_of_viva_are_there_where_the_user_has_none(
    tmp_path: Path, bare_environment: Path, workspace: Path
) -> None:
    file = tmp_path / "agent.py"
    file.write_text(
        "from viva.records.transcript import Reply, Step\n"
        "class Agent:\n"
        "    def get_reply_from_agent(self, message):\n"
        "        return Reply('x', (Step('1'),))\n"
    )
    for connector in (("", True), (f"@{bare_environment}", False)):
        assert (await say(file, connector, workspace, "?", "Agent")) == Reply("x", (Step("1"),))


def test_the_bare_environment_really_has_nothing_of_viva(tmp_path: Path, bare_environment: Path) -> None:
    command = [bare_environment / "bin" / "python", "-c", "import adapters"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "No module named 'adapters'" in done.stderr


@pytest.mark.parametrize("kind", [Reply, Step, Usage])
def test_the_stand_ins_have_the_fields_of_the_real_ones(kind: type) -> None:
    stand_in = getattr(stand_ins, kind.__name__)
    arguments = ("x",) if kind is not Usage else ()
    assert [each.name for each in fields(stand_in)] == [each.name for each in fields(kind)]
    assert repr(stand_in(*arguments)) == repr(kind(*arguments))


def test_the_stand_in_of_the_base_class_has_the_members_of_the_real_one() -> None:
    def members(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert members(stand_ins.VirtualUser) == members(VirtualUser)
    assert {each.name: each.value for each in stand_ins.StepKind} == {each.name: each.value for each in StepKind}
    assert f"{stand_ins.StepKind.TOOL}" == f"{StepKind.TOOL}" == "tool"


COUNTS = st.integers(0, 5)
USAGES = st.lists(st.tuples(*[COUNTS] * 6, st.none() | st.sampled_from([0.0, 0.5, 2.0])), min_size=2, max_size=2)


@given(USAGES, st.booleans(), st.none() | COUNTS, st.none() | COUNTS)
def test_the_stand_in_of_usage_adds_subtracts_and_knows_the_unknown_as_the_real_one(
    figures: list[tuple[Any, ...]], reported: bool, given: int | None, made: int | None
) -> None:
    def shown(kind: Any) -> list[Any]:
        one, two = (kind(*each, reported=whole) for each, whole in zip(figures, (reported, True), strict=True))
        answered = kind.answered(given, made, 1, cost=0.5)
        found = [one, two, one + two, one - two, answered, kind.answered(given, made, calls=0)]
        return [(repr(each), each.tokens, each.known, each.known_tokens, each.known_cost) for each in found]

    assert shown(stand_ins.Usage) == shown(Usage)


def test_the_stand_in_of_usage_has_the_members_of_the_real_one() -> None:
    def members(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert members(stand_ins.Usage) == members(Usage)
