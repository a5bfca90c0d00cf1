"""The agents that come with Viva are found in a checkout and in an installed Viva, and records do not tell where."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.adapters.connectors import example
from viva.adapters.connectors.table import load_agent
from viva.errors import SetupError


@pytest.mark.parametrize("isolate", [False, True])
def test_an_example_is_called_by_its_name(isolate: bool) -> None:
    agent = load_agent("example:asks_back", isolate=isolate)
    assert (agent.spec, agent.name, agent.kind, agent.label) == (
        "example:asks_back",
        "AsksBackAgent",
        "example",
        "asks_back",
    )


@pytest.mark.parametrize("name", ["carefull", "", "../agents/careful", "careful.py"])
def test_an_unknown_example_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(SetupError, match=r"no example agent .*; there are asks_back, careful, failing, forgetful\.$"):
        load_agent(f"example:{name}")


def test_an_installed_viva_has_its_own_and_not_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """site-packages may well hold a package `examples` of another distribution."""
    for folder, word in (("viva/example_agents", "ours"), ("examples/agents", "theirs")):
        (tmp_path / folder).mkdir(parents=True)
        source = (
            f"class GreetAgent:\n    version = '{word}'\n    def get_reply_from_agent(self, message): return message\n"
        )
        (tmp_path / folder / "greet.py").write_text(source)
    folders = tuple(tmp_path / folder for folder in ("viva/example_agents", "examples/agents"))
    assert [folder.relative_to(tmp_path) for folder in folders] == [
        folder.relative_to(Path(example.__file__).parents[3]) for folder in example.FOLDERS
    ]
    monkeypatch.setattr(example, "FOLDERS", folders)
    assert load_agent("example:greet").version == "ours"
