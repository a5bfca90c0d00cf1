"""Definitions of tools: from Python functions, from YAML, and added to what a recording says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import pytest

from viva.errors import SetupError
from viva.recordings.given_tools import load_tools, of_function, with_tools
from viva.recordings.tool_definitions import definition, normal
from viva.records.transcript import Transcript


def search(query: str, most: int = 5, *, kind: Literal["web", "news"] = "web", tags: list[str] | None = None) -> str:
    """Search for something.

    Args:
        query: What to look for.
        most: Results at most.
    """
    return query


def test_a_function_is_defined_by_its_signature_and_docstring() -> None:
    tool = of_function(search)
    assert tool["type"] == "function"
    function = tool["function"]
    assert function["name"] == "search"
    assert function["description"].startswith("Search for something.")
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "most": {"type": "integer", "description": "Results at most.", "default": 5},
            "kind": {"enum": ["web", "news"], "default": "web"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_the_public_functions_of_a_file_are_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "their_tools.py"
    file.write_text("import os\ndef a(x: int):\n    'Do a.'\ndef _b(): ...\nTOOLS = [a]\n")
    assert [tool["function"]["name"] for tool in load_tools(str(file))] == ["a"]
    assert [tool["function"]["name"] for tool in load_tools(f"{file}:TOOLS")] == ["a"]
    assert [tool["function"]["name"] for tool in load_tools(f"{file}:a")] == ["a"]


def test_yaml_holds_definitions_or_descriptions(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("a: Do a.\nb:\n  description: Do b.\n  parameters: {type: object}\nc:\n  extra: Use it last.\n")
    first, second, third = load_tools(str(file))
    assert first == definition("a", "Do a.")
    assert second == definition("b", "Do b.", {"type": "object"})
    assert third["function"]["extra"] == "Use it last."
    file.write_text("- name: a\n  input_schema: {type: object}\n")
    assert load_tools(str(file)) == (definition("a", None, {"type": "object"}),)


def test_extra_words_are_added_to_what_the_recording_says(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("a:\n  extra: Use it last.\nd: New.\n")
    before = Transcript(tools=(definition("a", "Do a.", {"type": "object"}), definition("b")))
    after = with_tools(before, load_tools(str(file)))
    assert after.tools == (
        definition("a", "Do a. Use it last.", {"type": "object"}),
        definition("b"),
        definition("d", "New."),
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.yaml", "a: [1", "not valid YAML"),
        ("t.yaml", "5", "must hold a list of tools, or a mapping"),
        ("t.yaml", "a:\n  colour: red\n", "the tool 'a' has unknown keys: colour"),
        ("t.yaml", "- {description: x}", "tool 1 has no name"),
        ("t.yaml", "[]", "it defines no tool"),
        ("t.py", "1 / 0", "ZeroDivisionError"),
        ("t.py", "x = 1", "it defines no tool"),
        ("missing.yaml", None, "cannot be read"),
    ],
)
def test_mistakes_are_told(name: str, text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SetupError, match=words):
        load_tools(str(tmp_path / name))


def test_definitions_of_other_shapes_become_the_chat_formats() -> None:
    schema = {"type": "object"}
    assert normal({"name": "a", "description": "d", "inputSchema": schema}) == definition("a", "d", schema)
    assert normal('{"type": "function", "name": "a", "parameters": {"type": "object"}}') == definition(
        "a", None, schema
    )
    assert normal({"description": "no name"}) is None
    assert normal("no JSON") is None
