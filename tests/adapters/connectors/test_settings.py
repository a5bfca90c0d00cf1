"""Settings of agents in a SPEC, and their combinations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.adapters.connectors.settings import (
    MOST_AGENTS,
    parse_varied,
    read_settings,
    varied_specs,
    varied_texts,
)
from viva.adapters.connectors.spec import agent_label
from viva.adapters.connectors.table import load_agent
from viva.adapters.connectors.varied_spec import VariedSpec, split_settings
from viva.adapters.contract import AgentArguments
from viva.adapters.session import open_session
from viva.errors import AgentError, SetupError

AGENT = """
class Agent:
    def __init__(self, task_description, config_var=None, temperature=1.0):
        self.made = (temperature, config_var)
    def get_reply_from_agent(self, message):
        return repr(self.made)

class Closed:
    def __init__(self, task_description, temperature=1.0):
        self.temperature = temperature
    def get_reply_from_agent(self, message):
        return repr(self.temperature)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(AGENT)
    (tmp_path / "short.md").write_text("Be short.\n")
    return tmp_path


async def reply(spec: str, config: dict[str, Any] | None = None, *, isolate: bool = False) -> str:
    agent = load_agent(spec, isolate=isolate)
    session = await open_session(
        agent.factory, AgentArguments("task", config_var=config, settings=agent.settings), 60, agent.home
    )
    try:
        return (await session.reply("hello", 60)).text
    finally:
        await session.close()
        if agent.release is not None:
            agent.release()


@pytest.mark.parametrize("isolate", [False, True])
async def test_a_setting_is_an_argument_or_a_key_of_config_var(here: Path, isolate: bool) -> None:
    spec = "a.py:Agent[temperature=0,system=short.md,llm.model=m-2,flag=true]"
    config = {"llm.model": "m-1", "kept": 5}
    expected = (0, {"llm.model": "m-2", "kept": 5, "system": "Be short.\n", "flag": True})
    assert await reply(spec, config, isolate=isolate) == repr(expected)
    assert await reply("a.py:Agent", config, isolate=isolate) == repr((1.0, config))
    assert config == {"llm.model": "m-1", "kept": 5}


async def test_a_setting_that_nothing_takes_is_a_mistake(here: Path) -> None:
    assert await reply("a.py:Closed[temperature=3]") == "3"
    words = "Closed takes no setting tempo: its constructor has no such parameter, and it does not use config_var. It "
    with pytest.raises(SetupError, match=f"{words}takes temperature"):
        await reply("a.py:Closed[tempo=3]")
    with pytest.raises(AgentError, match=words):
        await reply("a.py:Closed[tempo=3]", isolate=True)


async def test_what_viva_passes_itself_is_no_setting(here: Path) -> None:
    for name in ("task_description", "config_var"):
        with pytest.raises(SetupError, match=f"Agent cannot have the setting {name}: Viva passes"):
            await reply(f"a.py:Agent[{name}=0]")
    with pytest.raises(AgentError, match="cannot have the setting task_description"):
        await reply("a.py:Agent[task_description=0]", isolate=True)


def test_a_setting_in_brackets_twice_is_a_mistake(here: Path) -> None:
    with pytest.raises(SetupError, match="has the setting temperature twice"):
        load_agent("a.py:Agent[temperature=1,temperature=2]")


@pytest.mark.parametrize("spec", ["http://127.0.0.1:9/v1#m[t=1]", "cmd+plain:cat[t=1]", "a2a:http://127.0.0.1:9[t=1]"])
async def test_connections_without_settings_refuse_them(here: Path, spec: str) -> None:
    with pytest.raises(SetupError, match="takes no setting t"):
        await reply(spec)


async def test_a_setting_replaces_a_key_of_an_agent_file(here: Path) -> None:
    file = here / "agent.yaml"
    file.write_text("connector: http\nurl: http://127.0.0.1:9/v1\nmodel: first\n")
    agent = load_agent(f"{file}[model=second]")
    assert agent.model == "second"
    assert agent.settings == {}
    with pytest.raises(SetupError, match="url"):
        load_agent(f"{file}[url=5]")


def test_the_digest_of_an_agent_covers_the_texts_of_its_settings(here: Path) -> None:
    before = load_agent("a.py:Agent[system=short.md]").digest
    assert before != load_agent("a.py:Agent").digest
    assert before == load_agent("a.py:Agent[system=short.md]").digest
    (here / "short.md").write_text("Be brief.\n")
    assert before != load_agent("a.py:Agent[system=short.md]").digest
    with pytest.raises(SetupError, match=r"gone\.md .*names a file"):
        load_agent("a.py:Agent[system=gone.md]")


@pytest.mark.parametrize(
    "spec",
    [
        *("a.py:Agent", "cmd:test [ -f x ]", "cmd:env [A=b]", "http://[::1]:80/v1#m", "x[0]", "case[row=]x", "[a=b]"),
        *("a.py:Agent[a]", "a.py:Agent[a=b", "a.py:Agent[a=[b]]", ""),
    ],
)
def test_other_brackets_are_no_settings(spec: str) -> None:
    assert split_settings(spec) == VariedSpec(spec, {})


VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.dictionaries(st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.-]{0,5}\Z"), VALUES, max_size=4))
@settings(max_examples=examples(150), deadline=None)
def test_settings_come_back_from_a_spec(chosen: dict[str, str]) -> None:
    written = str(VariedSpec("a.py:Agent", chosen))
    assert split_settings(written) == VariedSpec("a.py:Agent", chosen)


@given(st.lists(VALUES.map(str.strip).filter(bool), min_size=2, max_size=4, unique=True))
@settings(max_examples=examples(100), deadline=None)
def test_values_come_back_from_texts(values: list[str]) -> None:
    assert parse_varied(varied_texts({"name": values})) == {"name": tuple(values)}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *[("0", 0), ("0.7", 0.7), ("true", True), ("null", None), ("on call", "on call"), ("", "")],
        *[("2020-01-01", "2020-01-01"), ("[1]", "[1]"), ("'7'", "'7'"), ("{a: b}", "{a: b}"), (": {", ": {")],
    ],
)
def test_values_are_numbers_or_texts(written: str, value: object) -> None:
    assert read_settings(VariedSpec("a", {"x": written})) == {"x": value}


def test_all_combinations_are_agents() -> None:
    varied = parse_varied(["t=0,1", 'words="a, b",c'])
    assert varied_specs(["x:A", "y:B[z=1]"], varied) == (
        *('x:A[t=0,words="a, b"]', "x:A[t=0,words=c]", 'x:A[t=1,words="a, b"]', "x:A[t=1,words=c]"),
        *('y:B[z=1,t=0,words="a, b"]', "y:B[z=1,t=0,words=c]", 'y:B[z=1,t=1,words="a, b"]', "y:B[z=1,t=1,words=c]"),
    )
    assert agent_label("x:A[t=0,words=c]") == "A[t=0, words=c]"
    assert varied_specs(["x:A"], {}) == ("x:A",)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["t"], "takes NAME=VALUE,VALUE"),
        (["=1,2"], "takes NAME=VALUE,VALUE"),
        (["t=1"], "at least two values"),
        (["t="], "at least two values"),
        (["t=1,1"], "the value '1' is given twice"),
        (["t=1,2", "t=3,4"], "is given twice for t"),
        (['t="1,2'], "quotes do not match"),
    ],
)
def test_mistakes_in_what_is_varied(texts: list[str], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        parse_varied(texts)


def test_too_many_combinations_and_settings_given_twice() -> None:
    with pytest.raises(SetupError, match=f"more than {MOST_AGENTS:,}"):
        varied_specs(["x:A"], {name: [str(number) for number in range(40)] for name in "ab"})
    with pytest.raises(SetupError, match="has this setting already"):
        varied_specs(["x:A[t=1]"], {"t": ["1", "2"]})
    with pytest.raises(SetupError, match="vary takes lists"):
        varied_texts({"t": "0,1"})
    with pytest.raises(SetupError, match="vary takes lists"):
        varied_texts({"t": [object(), 1]})
