"""Every way to reach an agent, and every framework, has an example that passes a case in the tests.

Whoever adds a row to a table of the pages adds one here: the example, and the test that runs it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from viva.adapters.connectors.table import CONNECTORS

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "agents"
COMMANDS = "tests/viva/agents/test_command_examples.py::test_the_examples_pass_a_bundled_case"
FRAMEWORKS = "tests/adapters/frameworks/test_framework_examples.py::test_the_example_passes_a_bundled_case"
ASSISTANTS = "tests/adapters/assistants/test_assistant_examples.py"
BUNDLED = "tests/viva/cli/test_bundled_cases.py::test_the_careful_agent_gets_full_marks_without_a_model"
JSON_API = "tests/adapters/connectors/http/test_http_json.py::test_the_example_passes_a_bundled_case"
CHAT = "tests/adapters/connectors/http/test_http_examples.py::test_the_example_passes_a_bundled_case_over_both_apis"
MCP = "tests/viva/exam/test_mcp_example.py::test_the_example_passes_its_case_and_every_call_is_recorded"
CODING = "tests/adapters/connectors/acp/test_coding_agents.py::test_the_example_solves_a_bundled_case"

CONNECTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "a class or a function of yours": (("careful.py", "forgetful.py"), BUNDLED),
    "the same with packages of its own": (("langgraph/my_graph.py",), FRAMEWORKS),
    "behind an OpenAI-compatible chat endpoint": (("http/openai_server.py",), CHAT),
    "behind OpenAI's Responses API": (("http/openai_server.py",), CHAT),
    "behind a custom JSON API": (("http/server.py", "http/agent.yaml", "http/streaming.yaml"), JSON_API),
    "an A2A agent": (
        ("a2a/server.py",),
        "tests/adapters/connectors/a2a/test_a2a.py::test_the_example_passes_a_bundled_case",
    ),
    "an agent of AutoGen, LangGraph, LangChain, LlamaIndex, OpenAI Agents SDK or Pydantic AI": (
        tuple(
            f"{folder}/{file}"
            for folder, file in {
                "autogen": "my_team.py",
                "langgraph": "my_graph.py",
                "llama_index": "my_agent.py",
                "openai_agents": "my_agent.py",
                "pydantic_ai": "my_agent.py",
            }.items()
        ),
        FRAMEWORKS,
    ),
    "a coding agent that speaks the Agent Client Protocol (OpenCode, Qwen Code, Gemini CLI…)": (
        ("acp/opencode.yaml", "acp/qwen.yaml"),
        CODING,
    ),
    "a program that reads and writes one JSON object per line": (
        ("commands/adder.py", "commands/two_files.js"),
        COMMANDS,
    ),
    "an interactive program, in a terminal": (("commands/talker.sh", "commands/talker.yaml"), COMMANDS),
    "anything that needs more settings than fit into a SPEC": (("commands/talker.yaml",), COMMANDS),
    "a session of GitHub's Copilot SDK": (
        ("copilot/agent.py",),
        f"{ASSISTANTS}::test_copilot_passes_with_its_example",
    ),
    "an agent of the Claude Agent SDK": (
        ("claude_agent/agent.py",),
        f"{ASSISTANTS}::test_claude_passes_with_its_example",
    ),
    "a TaskWeaver project": (("taskweaver/project",), f"{ASSISTANTS}::test_taskweaver_passes_with_its_example"),
    "a stored run, repeated": ((), "tests/viva/cli/test_replayed_agent.py"),
    "an agent that works with MCP servers of the case": (("mcp/agent.py", "mcp/order_desk"), MCP),
    "one of the bundled examples": (("careful.py",), "tests/adapters/connectors/test_example.py"),
}
"""The first column of the table in `agents.md`: examples under `examples/agents`, and the test that runs them."""
FRAMEWORK_FOLDERS = {
    "AutoGen": "autogen",
    "LangGraph, LangChain": "langgraph",
    "LlamaIndex": "llama_index",
    "OpenAI Agents SDK": "openai_agents",
    "Pydantic AI": "pydantic_ai",
}
"""The first column of the table in `frameworks.md`: the folder, which the test of frameworks runs by its name."""


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table that begins with a heading."""
    lines = (PAGES / page).read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return table


def test_every_row_of_the_page_has_an_example_and_a_test_that_runs_it() -> None:
    assert {row[0] for row in rows("agents.md", "your agent is")} == set(CONNECTIONS)


def test_the_examples_are_there() -> None:
    files = {file for files, _ in CONNECTIONS.values() for file in files}
    missing = sorted(file for file in files if not (ROOT / "examples" / "agents" / file).exists())
    assert not missing


def test_the_tests_are_there_and_name_the_example() -> None:
    for what, (files, test) in CONNECTIONS.items():
        path, _, name = test.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        functions = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
        assert not name or name in functions, f"{what}: {test}"
        names = {Path(file).stem for file in files} | {file.partition("/")[0] for file in files}
        assert not files or any(part in text for part in names), f"{what}: {path} runs none of {files}"


def test_every_framework_of_the_page_is_one_that_the_test_of_examples_runs() -> None:
    from tests.adapters.frameworks.test_framework_examples import EXAMPLES

    assert {row[0] for row in rows("frameworks.md", "framework")} == set(FRAMEWORK_FOLDERS)
    assert set(FRAMEWORK_FOLDERS.values()) == set(EXAMPLES)


def test_every_connector_has_a_row() -> None:
    specs = " ".join(row[1] for row in rows("agents.md", "your agent is"))
    named = set(re.findall(r"`([\w+]+):", specs)) | {"https"}
    assert set(CONNECTORS.builtin) - named == set()


def test_every_folder_of_examples_belongs_to_a_row() -> None:
    folders = {file.partition("/")[0] for files, _ in CONNECTIONS.values() for file in files}
    own = {folder.name for folder in (ROOT / "examples" / "agents").iterdir() if folder.is_dir()}
    assert own - {"__pycache__"} <= folders
