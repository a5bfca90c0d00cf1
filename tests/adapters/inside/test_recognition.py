"""Objects of frameworks are recognized by their classes; what is not recognized is told with what is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.frameworks import KNOWN, wrapper_name
from viva.errors import SetupError


def kind_of(module: str, name: str) -> type:
    return type(name, (), {"__module__": module})


@pytest.mark.parametrize(
    ("module", "name", "wrapper"),
    [
        ("langgraph.graph.state", "StateGraph", "langchain:LangChainAgent"),
        ("langchain_core.runnables.base", "Runnable", "langchain:LangChainAgent"),
        ("pydantic_ai.agent.abstract", "AbstractAgent", "pydantic_ai:PydanticAIAgent"),
        ("langgraph.graph.state", "Other", None),
        ("my.langgraph", "StateGraph", None),
        ("langgraphs", "StateGraph", None),
    ],
)
def test_an_object_is_recognized_by_the_classes_that_it_inherits_from(
    module: str, name: str, wrapper: str | None
) -> None:
    mine = type("Mine", (kind_of(module, name),), {})
    assert wrapper_name(mine) == wrapper_name(mine()) == wrapper


def test_an_adapter_that_inherits_from_a_framework_stays_an_adapter() -> None:
    both = type("Both", (kind_of("pydantic_ai.agent", "Agent"),), {"get_reply_from_agent": lambda self, message: ""})
    assert wrapper_name(both()) is None


def test_an_unknown_object_is_told_with_what_is_recognized(tmp_path: Path, connector: tuple[str, bool]) -> None:
    file = tmp_path / "agents_of_mine.py"
    file.write_text("class Thing:\n    pass\n\n\nthing = Thing()\n")
    with pytest.raises(SetupError) as caught:
        load_agent(f"{file}:thing{connector[0]}", isolate=connector[1])
    assert "it is a Thing" in str(caught.value)
    assert KNOWN in str(caught.value)


def test_a_name_that_is_missing_is_told_with_the_nearest_object(tmp_path: Path, connector: tuple[str, bool]) -> None:
    file = tmp_path / "agents_of_mine.py"
    file.write_text("graph = type('StateGraph', (), {'__module__': 'langgraph.graph.state'})()\n")
    with pytest.raises(SetupError, match=r"no 'grap'\. Did you mean .*:graph"):
        load_agent(f"{file}:grap{connector[0]}", isolate=connector[1])


def test_nothing_of_a_framework_is_imported_to_recognize_it() -> None:
    code = "import viva.adapters.inside.rules, sys; print([name for name in sys.modules if 'frameworks.' in name])"
    assert subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout == b"[]\n"
