"""Each framework that a package index has is an extra, which accepts the version that the tests use."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.environments import RECIPES, ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FRAMEWORKS = ("langgraph", "llama_index", "openai_agents", "pydantic_ai", "claude_agent_sdk")


def pinned(recipe: str) -> dict[str, str]:
    """Return the versions of an environment by the names of its distributions."""
    lines = (RECIPES / f"{recipe}.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in pins}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_extra_of_a_framework_accepts_the_version_that_is_tested(framework: str) -> None:
    versions = pinned(framework)
    wanted = [Requirement(each) for each in EXTRAS[framework.replace("_", "-")]]
    assert wanted
    assert [each for each in wanted if not each.specifier.contains(versions[each.name])] == []


@pytest.mark.parametrize("page", ["README.md", "docs/agents/frameworks.md"])
def test_the_extras_of_frameworks_are_on_the_page(page: str) -> None:
    text, names = (ROOT / page).read_text(), [each.replace("_", "-") for each in (*FRAMEWORKS, "copilot")]
    assert [name for name in names if not re.search(rf"[`\[]{name}[`\]]", text)] == []
