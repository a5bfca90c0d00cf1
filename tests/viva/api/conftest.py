"""What the tests of the public face share: a case without a sandbox's cost, agents, and parts of a program's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import viva

CaseMaker = Callable[..., Path]


class Parrot(viva.VirtualUser):
    """Says the same again."""

    def get_reply_from_agent(self, message: str) -> str:
        return message


class AsyncParrot(viva.VirtualUser):
    """The same, on the event loop."""

    async def get_reply_from_agent(self, message: str) -> str:
        return message


class Length:
    """An evaluator: the share of replies of at most so many letters."""

    name = "length"

    def __init__(self, letters: int = 5) -> None:
        self.letters = letters

    async def evaluate(self, transcript: viva.Transcript, context: viva.Context) -> viva.Insight:
        short = [len(each.agent or "") <= self.letters for each in transcript.rounds]
        return viva.Insight(self.name, context.subject, "measured", sum(short) / len(short))


@pytest.fixture
def write_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaseMaker:
    """Writes a case folder in a fresh current folder; its check runs in the process sandbox."""
    monkeypatch.chdir(tmp_path)

    def write(name: str = "exam", check: str = "assert rounds", **fields: object) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        points = [{"score_point": "It speaks.", "weight": 1, "eval_code": check}]
        content = {"task_description": "Talk.", "scoring_points": points, "script": ["Hello.", "Good bye."], **fields}
        (folder / "case.yaml").write_text(yaml.safe_dump(content))
        return folder

    return write
