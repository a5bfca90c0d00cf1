"""Every command of the page about labels works, in the order of the page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from tests.judged_journals import judged_suite, labels_by
from tests.viva.conftest import Desk
from tests.viva.viva_command import clean_environment, run_viva

PAGE = Path(__file__).parents[3] / "docs" / "labels.md"
EXITS = {"--published": 1}
"""What a command with an option ends with, if not with 0: the figure in the page is wrong on purpose."""


def _files(desk: Desk) -> None:
    journal = judged_suite(desk, "runs/my-suite")
    (desk.folder / "labels-bob.jsonl").write_text(labels_by("bob", journal), encoding="utf-8")
    rows = [(n, n // 3, "yes" if n % 2 else "no", "no" if n % 10 == 0 or n % 2 == 0 else "yes") for n in range(30)]
    lines = "".join(f"{item},{topic},{truth},{said}\n" for item, topic, truth, said in rows)
    (desk.folder / "ratings.csv").write_text(f"question,topic,expert,judge\n{lines}", encoding="utf-8")
    grades = "".join(f"{n},{metric},{n % 5},{(n + n % 2) % 5}\n" for n in range(20) for metric in ("clear", "right"))
    (desk.folder / "grades.csv").write_text(f"item,metric,a,b\n{grades}", encoding="utf-8")
    votes = [{"task": n, "who": who, "says": bool((n + len(who)) % 3)} for n in range(20) for who in ("x", "yy")]
    (desk.folder / "votes.jsonl").write_text("\n".join(map(json.dumps, votes)), encoding="utf-8")


def test_the_commands_of_the_page_work(desk: Desk) -> None:
    _files(desk)
    commands = re.findall(r"^\$ viva (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 9
    shown = {}
    for command in commands:
        keys = "hmh" * 20 if command.startswith("label") else ""
        done = run_viva(
            *shlex.split(command),
            cwd=desk.folder, env=clean_environment(), input=keys, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        expected = next((code for option, code in EXITS.items() if option in command), 0)
        gated = "--min-kappa" in command
        assert done.returncode in ((0, 1) if gated else (expected,)), f"{command}\n{done.stdout}{done.stderr}"
        shown[command] = done.stdout
    assert "judge: calibrated on" not in shown[commands[0]]
    assert re.search(
        r"gpt-4o: calibrated on \d+ labels of 6 cases \(labels of runs/my-suite\), kappa ",
        " ".join(shown[commands[2]].split()),
    )
