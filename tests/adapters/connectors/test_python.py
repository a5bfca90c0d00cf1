"""Loading agents: each form of SPEC, and for each mistake what to do about it in a line or two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viva.adapters.connectors.http.chat import ChatAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import SetupError

GOOD = """
from viva import VirtualUser

class GoodAgent(VirtualUser):
    version = "1.2"
    def get_reply_from_agent(self, message):
        return message

class NoMethod:
    pass

class Forgot(VirtualUser):
    pass

def make(task_description):
    return GoodAgent(task_description)

value = 7
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good_agents.py"
    file.write_text(GOOD)
    return file


def test_an_agent_comes_from_a_file(good: Path) -> None:
    agent = load_agent(f"{good}:GoodAgent")
    assert (agent.name, agent.version, agent.spec) == ("GoodAgent", "1.2", f"{good}:GoodAgent")
    assert agent.factory("task").get_reply_from_agent("Hi") == "Hi"


def test_an_agent_comes_from_a_module_in_the_current_folder(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(good.parent)
    assert load_agent("good_agents:GoodAgent").name == "GoodAgent"
    sys.modules.pop("good_agents")


def test_a_function_that_makes_an_agent_is_one(good: Path) -> None:
    assert load_agent(f"{good}:make").name == "make"


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("name", ["plain", "later", "Callable", "bound"])
async def test_a_function_that_answers_a_message_is_an_agent(tmp_path: Path, name: str, isolate: bool) -> None:
    file = tmp_path / "functions_that_answer.py"
    file.write_text(
        "def plain(message): return message.upper()\n"
        "async def later(text, tone='loud'): return text.upper()\n"
        "class Thing:\n"
        "    async def __call__(self, message, *, verbose=False): return message.upper()\n"
        "    def method(self, message): return message.upper()\n"
        "Callable, bound = Thing(), Thing().method\n"
    )
    agent = load_agent(f"{file}:{name}", isolate=isolate)
    session = await open_session(agent.factory, AgentArguments("task"), 30, agent.home)
    try:
        assert (await session.reply("hi", 30)).text == "HI"
    finally:
        await session.close()


def test_a_file_finds_its_own_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_agent.py").write_text("WORD = 'hello'")
    (tmp_path / "an_agent.py").write_text(
        "from neighbour_of_agent import WORD\nclass A:\n    def get_reply_from_agent(self, message): return WORD\n"
    )
    assert load_agent(f"{tmp_path / 'an_agent.py'}:A").factory().get_reply_from_agent("?") == "hello"


MISTAKES = {
    "{file}:GoodAgnet": r"good_agents.py has no 'GoodAgnet'. Did you mean .*good_agents.py:GoodAgent\?",
    "{file}": r"does not say which class, function or object; write .*good_agents.py:GoodAgent",
    "{file}:NoMethod": r"NoMethod has no get_reply_from_agent\(message\) method",
    "{file}:Forgot": r"Forgot has no get_reply_from_agent\(message\) method",
    "{file}:value": r"value in .* is not a class",
    "{folder}/good_agent.py:GoodAgent": r"no agent file .*good_agent.py. Did you mean .*good_agents.py\?",
    "/no/such/folder/a.py:A": r"no agent file /no/such/folder/a.py",
    "no_such_module:Agent": r"no module 'no_such_module' here or in Viva's environment",
    "json.no_such:Agent": r"no module 'json.no_such'",
    "json:NoSuchClass": r"json has no 'NoSuchClass'. It has no class with get_reply_from_agent",
    "just_words": r"not an agent SPEC\. Use package.module:Class",
    ":Agent": r"not an agent SPEC",
    "sh -c x": r"If it is a program, write cmd:sh -c x .* or cmd\+plain:sh -c x",
    "plain:sh": r"Did you mean cmd\+plain:sh\?",
    "{file}@/some/venv": r"does not say which class, function or object; write .*good_agents.py:Class@/some/venv",
    "cmd:no-such-program": r"there is no program 'no-such-program' on the PATH",
    "replay:runs/no-journal": r"there is no folder runs/no-journal",
    "replay:Agent@/some/venv": r"there is no folder .* name its file: replay.py:Class",
    ".relative:Agent": r"cannot be imported",
    "http://127.0.0.1:1/v1": r"does not name a model; write http://127.0.0.1:1/v1#MODEL",
    "http://#m": r"names no host",
    "http://host:port/v1#m": r"is not an address",
    "http://user:pass/word@host/v1#m": r"'http://host/v1#m' is not an address",
    "http://user:pass@host/v1": r"'http://host/v1' does not name a model; write http://host/v1#MODEL",
    "http://user:pass@host/v1#m": r"must not contain a password or key; use VIVA_AGENT_API_KEY",
}


@pytest.mark.parametrize("spec", MISTAKES)
def test_a_wrong_spec_says_what_to_do(spec: str, good: Path) -> None:
    with pytest.raises(SetupError, match=MISTAKES[spec]) as caught:
        load_agent(spec.format(file=good, folder=good.parent))
    assert len(str(caught.value).splitlines()) == 1
    assert "pass" not in str(caught.value).replace("password", "")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (":anwser", "has no 'anwser'. Did you mean .*functions.py:answer\\?"),
        ("", "does not say which class, function or object; write .*functions.py:answer\\."),
    ],
)
def test_a_misspelled_function_is_found(name: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text("from textwrap import dedent\ndef _own(): ...\ndef answer(message): return message\n")
    with pytest.raises(SetupError, match=words):
        load_agent(f"{file}{name}")


def test_a_file_may_be_called_like_a_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "replay.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    assert load_agent("replay.py:GoodAgent").name == "GoodAgent"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("\nraise ValueError('no config')", r"broken.py:2\)? cannot be imported: ValueError: no config"),
        ("import sys\nsys.exit(4)", r"broken.py:2\)? cannot be imported: SystemExit: 4"),
        (
            "import no_such_package_at_all",
            r"ModuleNotFoundError: .* Install it into Viva's environment, or .*: @/path/to/venv\.",
        ),
        ("def f(:\n  pass", r"cannot be imported: SyntaxError: .*line 1"),
        ("raise __import__('asyncio').CancelledError", r"cannot be imported: CancelledError"),
    ],
)
@pytest.mark.parametrize("form", ["file", "module"])
def test_a_module_that_breaks_on_import_says_where_and_why(
    form: str, body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text(body)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # what broke once is not taken for loaded
        with pytest.raises(SetupError, match=words):
            load_agent("./broken.py:A" if form == "file" else "broken:A")


def test_ctrl_c_while_importing_is_still_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_agent(f"{tmp_path / 'slow.py'}:A")


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(
            f"class A:\n    def get_reply_from_agent(self, message): return '{name}'\n"
        )
    said = [load_agent(f"{tmp_path / name}/agent.py:A").factory().get_reply_from_agent("?") for name in ("one", "two")]
    assert said == ["one", "two"]


@pytest.mark.parametrize("spec", ["agent.py:A", "agent:A"])
def test_a_users_folders_shadow_none_of_vivas(spec: str, tmp_path: Path) -> None:
    """A process of its own, in the user's folder, started by the real command."""
    for folder in ("adapters", "records", "cases", "harness", "judge"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("raise RuntimeError('the wrong one')")
    (tmp_path / "agent.py").write_text(
        "from viva import VirtualUser\nclass A(VirtualUser):\n"
        "    def get_reply_from_agent(self, message): return 'GUTENBERG'\n"
    )
    done = subprocess.run(
        [Path(sys.executable).parent / "viva", "run", "echo", "--agent", spec, "--sandbox", "process", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "echo scored 2/2 = 1.00\n"), done.stderr


def test_a_chat_endpoint_needs_no_key_to_be_named() -> None:
    agent = load_agent("https://agents.example/v1#helper-2")
    assert agent.name == "helper-2"
    assert issubclass(agent.factory, ChatAgent)  # type: ignore[arg-type]
