"""A case of checks without code needs neither a model nor a sandbox; reports say what was wanted and what was got."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.viva.conftest import Desk
from viva.cases.checks.reader import KINDS, read_check
from viva.cases.checks.words import check_words

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


EVERY_KIND: dict[str, Any] = {
    "contains": "320 euros", "not_contains": "I", "equals": "Paris", "starts_with": "Dear", "ends_with": "?",
    "regex": "[0-9]{7}", "number": 320, "json": True, "file": "note.txt", "tool_called": "book",
    "tool_order": ["a", "b"], "tool_f1": ["a"], "steps": {"min": 1}, "similar": "Something else", "words": 2,
    "rounds_at_most": 0, "seconds_at_most": 0, "cost_at_most": 1, "state": {"path": "rooms", "equals": 1},
}  # fmt: skip


def test_each_kind_is_explained_before_the_exam_and_shown_with_what_was_got_after_it(desk: Desk) -> None:
    assert set(EVERY_KIND) == set(KINDS)
    forms = [{kind: value} for kind, value in EVERY_KIND.items()]
    forms += [
        {"all": [{"words": 3}, {"number": 1}]},
        {"any": [{"words": 4}, {"json": True}]},
        {"not": {"contains": "t"}},
    ]
    of_checks(desk, "every", *forms)
    told = desk.viva("cases", "check", "every", expect=0).stdout
    words = [check_words(read_check(form)) for form in forms]
    assert [each for each in words if each[1:] not in told] == []
    desk.run("every", *agent(desk, "It costs 300 euros, I think."))
    desk.viva("report", "journal", "--format", "html", "--out", "page.html", expect=0)
    texts = re.findall(r'<script[^>]* id="c0">(.*?)</script>', (desk.folder / "page.html").read_text(), re.DOTALL)
    verdicts = json.loads(texts[0])["verdicts"]
    assert len(verdicts) == len(forms)
    for each, wanted in zip(verdicts, words, strict=True):
        sides = {
            name: "".join(part if isinstance(part, str) else part[-1] for part in parts)
            for name, parts in each["compared"]["sides"]
        }
        assert sides["wanted"] == wanted
        assert sides["got"]


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
