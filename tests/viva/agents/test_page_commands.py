"""Every command that the pages about agents print works as it is printed, with real programs and scripted models."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection

import pytest

from tests.adapters.assistants.taskweaver_projects import played as weaver
from tests.adapters.assistants.two_files import by_messages
from tests.adapters.connectors.acp.coding_models import MODEL, clerk, coder
from tests.adapters.frameworks.frameworks import warm_frameworks
from tests.adapters.frameworks.played import files_model
from tests.environments import folder_of, program_of, python_of
from tests.messages_server import MessagesServer
from tests.model_server import STOP_KEYWORD, ModelServer, Request, agent, by_role, judge, said_by, system_text, text_of
from tests.viva.agents.page_commands import PAGES, ROOT, Reader, commands_of, files_of
from tests.viva.viva_command import VIVA
from tests.warm.typed import typed_programs

INSTALLS = "installs from an index: tests/environments makes the same environments, and tests/installed installs extras"
NOT_TYPED = {
    "pip install 'vivavoce[mcp]'": INSTALLS,
    "pip install 'vivavoce[acp]'": INSTALLS,
    "pip install 'vivavoce[a2a]'": INSTALLS,
    'pip install "vivavoce[copilot]"': INSTALLS,
    "npm install -g opencode-ai": INSTALLS,
    "npm install @github/copilot": INSTALLS,
    "python -m venv claude && claude/bin/pip install claude-agent-sdk": INSTALLS,
    "python -m venv venv && venv/bin/pip install agentos-taskweaver litellm": INSTALLS,
    "export COPILOT_CLI_PATH=$PWD/node_modules/.bin/copilot": "belongs to the installation",
    "viva run same_number_in_two_files --agent my_copilot.py:session": "requires a login at GitHub: "
    "tests/adapters/assistants/test_assistant_examples.py runs this agent with a provider of its own",
    "viva run echo --agent my_agent.py:agent": "requires a framework in Viva's environment: "
    "tests/adapters/frameworks runs agents there",
    "pytest --viva-conformance my_agent.py:MyAgent@/path/to/venv "
    "--viva-conformance http://localhost:8000/v1#my-model": "takes minutes: make soak checks these connections",
}
"""The commands that are not run here, and why."""

FRAMEWORKS = {
    "autogen.md": "autogen",
    "langgraph.md": "langgraph",
    "llamaindex.md": "llama_index",
    "openai-agents.md": "openai_agents",
    "pydantic-ai.md": "pydantic_ai",
}
SERVERS_OF_A_CASE = {
    "autogen.md": "my_mcp_agent.py:make_agent",
    "langgraph.md": "my_mcp_graph.py:make_graph",
    "llamaindex.md": "my_mcp_agent.py:make_agent",
    "openai-agents.md": "my_mcp_agent.py:make_agent",
    "pydantic-ai.md": "my_mcp_agent.py:make_agent",
}
CHEAP = "pydantic-ai.md"
"""The page whose agent has the servers of a case here; the soak tries all frameworks."""
CAREFUL = (ROOT / "examples" / "agents" / "careful.py").read_text(encoding="utf-8")


def asker(request: Request) -> str:
    """Ask for what the case of two files lists, one request after the other, then stop."""
    number = len(said_by("assistant", request)) + 1
    found = re.search(rf"^ *{number}\. (.+)", system_text(request), re.MULTILINE)
    return found[1] if found else str(STOP_KEYWORD.findall(system_text(request))[0])


def parrot(request: Request) -> str:
    """Say one word back."""
    return text_of(request["messages"][-1]).partition("the word ")[2].partition(" ")[0]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    parts = {
        "gpt-5-mini": files_model,
        "gpt-4.1-mini": clerk,
        "my-model": agent,
        MODEL: coder,
        "gpt-4": weaver,
        "gpt-5": by_role(asker, judge),
    }
    with ModelServer({**parts, "parrot": parrot}) as server:
        yield server


@pytest.fixture
def reader(tmp_path: Path, model: ModelServer) -> Iterator[Reader]:
    with typed_programs(VIVA) as programs:
        found = Reader(tmp_path, programs)
        found.environment |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "unused"}
        yield found


def typed(page: str) -> list[str]:
    """Return the commands of a page that are run here."""
    return [command for command in commands_of(page) if command not in NOT_TYPED]


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nothing listens at {port}")


def test_every_command_that_is_not_run_is_on_a_page() -> None:
    printed = {command for page in PAGES.glob("*.md") for command in commands_of(page.name)}
    assert set(NOT_TYPED) <= printed


def test_every_page_with_a_command_has_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    pages = [page.name for page in PAGES.glob("*.md") if typed(page.name)]
    assert len(pages) > 12
    assert [page for page in pages if f'typed("{page}")' not in text and page not in FRAMEWORKS] == []


def test_trying_an_agent(reader: Reader) -> None:
    reader.copy_examples()
    assert "The exchange worked" in reader.type(*typed("agents.md"))


def test_first_files(reader: Reader) -> None:
    reader.type(*typed("start.md"))


def test_programs(reader: Reader) -> None:
    for program in ("node", "bc"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    reader.copy_examples()
    printed = reader.type(*typed("commands.md"))
    assert printed.count("= 1.00") == 6, printed


def test_agent_files(reader: Reader, model: ModelServer) -> None:
    reader.replaced["8000"] = str(model.port)
    reader.environment |= {"SUPPORT_KEY": "a-key-for-support", "TEAM": "support"}
    reader.write(files_of("agent-files.md"))
    assert "15/15" in reader.type(*typed("agent-files.md"))


def test_addresses(reader: Reader) -> None:
    port = reader.port(8000)
    reader.port(8765)
    reader.copy_examples()
    server = reader.folder / "examples" / "agents" / "http" / "openai_server.py"
    with subprocess.Popen([reader.folder / "bin" / "python", server, str(port)], stdout=subprocess.DEVNULL) as serving:
        wait_for(port)
        try:
            printed = reader.type(*typed("http.md"))
        finally:
            serving.kill()
    assert printed.count("15/15") == 3, printed


def test_a2a(reader: Reader) -> None:
    port = reader.port(8766)
    command = [python_of("a2a"), ROOT / "examples" / "agents" / "a2a" / "server.py", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as serving:
        wait_for(port)
        try:
            printed = reader.type(*typed("a2a.md"))
        finally:
            serving.kill()
    assert "15/15" in printed


@pytest.mark.soak  # three exams by OpenCode; tests/adapters/connectors/acp/test_coding_agents.py lets it take one
def test_coding_agents(reader: Reader, model: ModelServer) -> None:
    reader.paths.append(str(program_of("opencode", "opencode").parent))
    reader.copy_examples()
    reader.replaced["8000"] = str(model.port)
    # What a person has set for the agent before: here, the scripted model.
    config = reader.folder / "examples" / "agents" / "acp" / "opencode.json"
    reader.environment |= {"OPENCODE_CONFIG": str(config), "MODEL": MODEL}
    usual, own = [place for place, command in enumerate(typed("acp.md")) if "'acp:opencode acp'" in command]
    first = typed("acp.md")[usual : own + 1]
    assert "The exchange worked" in reader.type(*first)
    del reader.environment["OPENCODE_CONFIG"], reader.environment["MODEL"]
    rest = [command for command in typed("acp.md") if command not in first]
    printed = reader.type(*rest)
    assert "1/1" in printed, printed


def test_servers_of_a_case(reader: Reader) -> None:
    reader.copy_examples()
    assert "scored" in reader.type(*typed("mcp.md"))


def test_agents_of_frameworks(reader: Reader, model: ModelServer) -> None:
    model.parts["gpt-5-mini"] = parrot
    reader.link("path/to/venv", folder_of("llama_index"))
    reader.write({"my_agent.py": (ROOT / "examples" / "agents" / "llama_index" / "my_agent.py").read_text()})
    with warm_frameworks():
        assert "2/2" in reader.type_viva(*typed("frameworks.md"))


@pytest.mark.parametrize("page", FRAMEWORKS)
def test_the_page_of_a_framework(reader: Reader, page: str) -> None:
    reader.link("path/to/venv", folder_of(FRAMEWORKS[page]))
    reader.write(files_of(page))
    with warm_frameworks():
        assert "1/1" in reader.type_viva(*typed(page))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.soak] * (page != CHEAP)) for page in SERVERS_OF_A_CASE],
)
def test_an_agent_of_a_framework_uses_the_servers_of_a_case(reader: Reader, model: ModelServer, page: str) -> None:
    model.parts["gpt-5-mini"] = clerk
    reader.link("path/to/venv", folder_of(FRAMEWORKS[page]))
    reader.copy_examples()
    reader.write(files_of(page))
    spec = f"{SERVERS_OF_A_CASE[page]}@path/to/venv"
    with warm_frameworks():
        printed = reader.type_viva(f"viva run examples/agents/mcp/order_desk --agent {spec} --allow-pre-command")
    assert "= 1.00" in printed, printed


def test_claude(reader: Reader) -> None:
    reader.link("claude", folder_of("claude_agent_sdk"))
    reader.write(files_of("claude-agent-sdk.md"))
    with MessagesServer(by_messages) as server:
        reader.environment |= {"ANTHROPIC_BASE_URL": server.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        assert "1/1" in reader.type(*typed("claude-agent-sdk.md"))


def test_taskweaver(reader: Reader, model: ModelServer) -> None:
    reader.link("/path/to/venv", folder_of("taskweaver"))
    reader.write(files_of("taskweaver.md"))
    shutil.copytree(ROOT / "examples" / "agents" / "taskweaver" / "project", reader.folder / "project")
    for place in ("path/to/case", "cases/same_number_in_two_files"):
        shutil.copytree(ROOT / "cases" / "same_number_in_two_files", reader.folder / place)
    reader.write({"stand-in/litellm.py": ""})  # see taskweaver_projects.py
    paths = f"{reader.folder / 'stand-in'}:{ROOT}"
    reader.environment |= {"LLM_API_BASE": model.url, "LLM_API_KEY": "test", "PYTHONPATH": paths}
    printed = reader.type(*typed("taskweaver.md"))
    assert (reader.folder / "results.csv").read_text().startswith("case_file,score,normalized_score")
    assert printed.count("1/1") >= 2, printed


def test_continuing(reader: Reader) -> None:
    name = "class CarefulAgent"
    assert name in CAREFUL
    changed = CAREFUL.replace(name, "class Changed")
    agents = f"{CAREFUL.replace(name, 'class MyAgent')}\n\n{changed}"
    reader.write({"my_agent.py": agents, "asked-differently.txt": "Once more, please: what is the next number?"})
    reader.type(*typed("fork.md"))


def test_conformance(reader: Reader) -> None:
    reader.write(files_of("conformance.md"))
    (command,) = typed("conformance.md")
    printed = reader.type(f"{command} -k 'answers or keeps_every or closes_twice' -p no:cacheprovider")
    assert "3 passed" in printed, printed


def test_commands_of_copilot_are_left_to_another_test() -> None:
    assert typed("copilot.md") == []
