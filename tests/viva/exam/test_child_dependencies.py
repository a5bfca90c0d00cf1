"""A case's dependencies are looked for in the environment that the agent runs in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from viva.adapters.connectors.table import load_agent
from viva.cases import Case, load_case
from viva.exam.requirements.dependencies import missing_for_agent

CASE = """
version: 0.1
task_description: A task.
dependencies: [pydantic>=2, no-such-thing]
script: [Hello]
scoring_points:
  - score_point: It greets.
    weight: 1
    eval_code: pass
"""


def missing(case: Case, spec: str) -> list[str]:
    return missing_for_agent(case, load_agent(spec))


def test_dependencies_are_those_of_the_agents_own_environment(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.yaml").write_text(CASE)
    case = load_case(tmp_path / "case")
    file = tmp_path / "agent.py"
    file.write_text("class Agent:\n    def get_reply_from_agent(self, message):\n        return message\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    says = "case requires"
    assert missing(case, f"{file}:Agent") == [f"{says} no-such-thing, not installed in Viva's environment"]
    assert missing(case, f"{file}:Agent@{sys.executable}") == [
        f"{says} no-such-thing, not installed in the agent's environment"
    ]
    assert missing(case, f"{file}:Agent@{tmp_path / 'venv'}") == [
        f"{says} pydantic>=2, no-such-thing, not installed in the agent's environment"
    ]
