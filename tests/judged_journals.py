"""A small suite that a scripted model judged, and what people may say about its scoring points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.model_server import ModelServer, Play, judge
from tests.viva.conftest import Desk
from viva.journal.reader import read_records

CASES = 6
USUAL = ("hit", "hit", "miss", "hit")
"""What the judge says about the four points of each case; the last is checked by code."""
AGENT = """
def __init__(self, task_description): self.number = task_description.split()[-1].strip(".")
def get_reply_from_agent(self, message): return f"It is {self.number}." + " Really." * 20 * int(self.number)
def close(self): pass
"""


def judged_suite(desk: Desk, out: str = "runs/first", play: Play = judge) -> Path:
    """Run six cases with four scoring points each, the last of them checked by code."""
    for number in range(1, CASES + 1):
        if (desk.folder / f"cases/case_{number}").exists():
            continue
        (desk.folder / "cases").mkdir(exist_ok=True)
        desk.case(
            f"cases/case_{number}",
            task_description=f"Add the numbers up; the sum is {number}.",
            scoring_points=[
                {"score_point": f"the sum should be {number}", "weight": 3},
                {"score_point": f"once more, the sum should be {number}", "weight": 1},
                {"score_point": f"the sum should be {number + 50}", "weight": 2},
                {"score_point": "It speaks.", "weight": 1, "eval_code": "assert rounds"},
            ],
        )
    agent = desk.agent(AGENT)
    with ModelServer({"gpt-4o": play}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        arguments = ("--agent", agent, "--judge-model", "openai:gpt-4o", "--sandbox", "process", "--out", out)
        desk.viva("suite", "cases", *arguments, expect=0, environment=environment)
    return desk.folder / out


def labels_by(rater: str, journal: Path, changed: Mapping[tuple[str, int], str] | None = None) -> str:
    """Return the lines of a label file by somebody who agrees with the judge but for changes, by case and point."""
    lines = []
    for record in read_records(journal):
        for number, (verdict, usual) in enumerate(zip(record.insights[0].verdicts, USUAL, strict=True), start=1):
            label = (changed or {}).get((record.subject, number), usual)
            plain = {"rater": rater, "run": record.id, "case": record.subject, "criterion": verdict.criterion}
            lines.append(json.dumps({**plain, "label": label}) + "\n")
    return "".join(lines)
