"""The examples of frameworks pass a bundled case over the command line, and the pages show them as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.frameworks.played import files_model
from tests.environments import ROOT, folder_of
from tests.model_server import ModelServer
from tests.viva.viva_command import in_this_process

EXAMPLES = {
    "autogen": ("autogen.md", "my_team.py:make_team"),
    "langgraph": ("langgraph.md", "my_graph.py:make_graph"),
    "llama_index": ("llamaindex.md", "my_agent.py:make_agent"),
    "openai_agents": ("openai-agents.md", "my_agent.py:agent"),
    "pydantic_ai": ("pydantic-ai.md", "my_agent.py:agent"),
}


@pytest.mark.parametrize("framework", EXAMPLES)
def test_the_example_passes_a_bundled_case(framework: str, tmp_path: Path) -> None:
    spec = f"{ROOT / 'examples' / 'agents' / framework / EXAMPLES[framework][1]}@{folder_of(framework)}"
    with ModelServer({"gpt-5-mini": files_model}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        words = ("run", "same_number_in_two_files", "--agent", spec, "--out", "journal", "--sandbox", "process")
        done = in_this_process(*words, "--quiet", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "1/1" in done.stdout
    events = [json.loads(line) for line in (tmp_path / "journal" / "journal.jsonl").read_text().splitlines()]
    steps = [step for event in events if event["event"] == "round" for step in event["data"].get("steps", ())]
    made = [(step["tool"], step["tool_input"]["name"]) for step in steps if step.get("tool")]
    assert made == [("write_file", "a.txt"), ("write_file", "b.txt")]
    assert sum(bool(step.get("usage", {}).get("input_tokens")) for step in steps) == 5


@pytest.mark.parametrize("framework", EXAMPLES)
def test_the_page_shows_the_example_as_it_is(framework: str) -> None:
    page, spec = EXAMPLES[framework]
    file = spec.partition(":")[0]
    text = (ROOT / "examples" / "agents" / framework / file).read_text()
    assert f"```py\n# {file}\n{text}```" in (ROOT / "docs" / "agents" / page).read_text()
