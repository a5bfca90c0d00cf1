"""A case of checks without code needs neither a model nor a sandbox; reports say what was wanted and what was got."""

from __future__ import annotations

import json
from typing import Any

from tests.viva.conftest import Desk

WANTED = "the last reply contains '320 euros'"


def of_checks(desk: Desk, name: str, *checks: dict[str, Any]) -> str:
    return desk.case(name, scoring_points=[{"check": check} for check in checks])


def agent(desk: Desk, reply: str) -> tuple[str, str]:
    (desk.folder / "agent.py").write_text(f"def reply(message):\n    return {reply!r}\n")
    return "--agent", "agent.py:reply"


def test_no_model_is_asked_for_and_both_sides_are_in_json(desk: Desk) -> None:
    of_checks(desk, "price", {"contains": "320 euros"}, {"not_contains": "sorry"})
    record = desk.run("price", *agent(desk, "It costs 300 euros."))
    verdicts = record["insights"][0]["verdicts"]
    assert [(each["label"], each["by"], each["wanted"]) for each in verdicts] == [
        ("miss", "code", WANTED),
        ("hit", "code", "the last reply contains no 'sorry'"),
    ]
    assert verdicts[0]["got"] == "'It costs 300 euros.'"
    assert verdicts[0]["reason"] == f"wanted: {WANTED}; got: 'It costs 300 euros.'"
    assert (record["score"], record["outcome"]) == (0.5, "scored")


def test_an_unknown_figure_is_no_pass(desk: Desk) -> None:
    of_checks(desk, "cheap", {"cost_at_most": 1})
    record = desk.run("cheap", *agent(desk, "Done."))
    assert (record["score"], record["high"]) == (0, 1)
    assert record["insights"][0]["verdicts"][0]["label"] == "unsure"


def test_judging_again_takes_changed_checks(desk: Desk) -> None:
    of_checks(desk, "price", {"contains": "320 euros"})
    desk.run("price", *agent(desk, "It costs 300 euros."))
    (desk.folder / "price" / "case.yaml").write_text(
        "task_description: Say something.\nscript: [Hello.]\nscoring_points:\n  - check: {number: 300}\n"
    )
    again = desk.viva("judge", "journal", "--case", "price", "--out", "again", "--json", expect=0)
    (record,) = json.loads(again.stdout)["runs"]
    assert record["score"] == 1
    assert record["insights"][0]["verdicts"][0]["wanted"] == "the last reply contains the number 300"


def test_the_page_has_both_sides_and_the_check(desk: Desk) -> None:
    of_checks(desk, "price", {"contains": "320 euros"})
    desk.run("price", *agent(desk, "It costs 300 euros."))
    desk.viva("report", "journal", "--format", "html", "--out", "page.html", expect=0)
    page = (desk.folder / "page.html").read_text()
    assert '"wanted"' in page
    assert "It costs 300 euros." in page


def test_a_check_of_files_judges_what_the_agent_left(desk: Desk) -> None:
    of_checks(desk, "note", {"file": {"path": "note.txt", "contains": "320"}})
    (desk.folder / "writer.py").write_text(
        "from viva import VirtualUser\n\n\nclass Writer(VirtualUser):\n"
        "    def get_reply_from_agent(self, message):\n"
        "        (self.workspace / 'note.txt').write_text('320 euros')\n        return 'Done.'\n"
    )
    record = desk.run("note", "--agent", "writer.py:Writer")
    assert record["score"] == 1
    (evidence,) = record["insights"][0]["verdicts"][0]["evidence"]
    assert evidence == {"where": "file:note.txt", "quote": "320 euros"}
