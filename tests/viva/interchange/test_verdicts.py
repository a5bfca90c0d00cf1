"""A suite that was imported from promptfoo runs, and its checks decide as promptfoo would, also with `not-`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import viva
from viva.journal.reader import read_records

TICKET = "A ticket to Oslo costs 320 euros."
JSON = '{"city": "Oslo", "price": 320}'
INSIDE = f"Here it is:\n```json\n{JSON}\n```"
XML = "<order><id>7</id></order>"
SCHEMA = {"type": "object", "required": ["city"], "properties": {"price": {"type": "number", "maximum": 400}}}

VERDICTS: list[tuple[str, dict[str, Any], bool]] = [
    (TICKET, {"type": "contains", "value": "320 euros"}, True),
    (TICKET, {"type": "contains", "value": "320 Euros"}, False),
    (TICKET, {"type": "contains", "value": 320}, True),
    (TICKET, {"type": "icontains", "value": "OSLO"}, True),
    (TICKET, {"type": "icontains", "value": "bergen"}, False),
    (TICKET, {"type": "contains-all", "value": ["Oslo", "320"]}, True),
    (TICKET, {"type": "contains-all", "value": ["Oslo", "330"]}, False),
    (TICKET, {"type": "contains-any", "value": "Bergen, Oslo"}, True),
    (TICKET, {"type": "contains-any", "value": ["Bergen", "oslo"]}, False),
    (TICKET, {"type": "icontains-all", "value": ["OSLO", "EUROS"]}, True),
    (TICKET, {"type": "icontains-any", "value": ["BERGEN", "OSLO"]}, True),
    (TICKET, {"type": "equals", "value": TICKET}, True),
    (TICKET, {"type": "equals", "value": TICKET + " "}, False),
    (JSON, {"type": "equals", "value": {"price": 320, "city": "Oslo"}}, True),
    (JSON, {"type": "equals", "value": {"price": 321, "city": "Oslo"}}, False),
    (TICKET, {"type": "starts-with", "value": "A ticket"}, True),
    (TICKET, {"type": "starts-with", "value": "ticket"}, False),
    (TICKET, {"type": "ends-with", "value": "euros."}, True),
    (TICKET, {"type": "regex", "value": r"\b\d{3} euros"}, True),
    (TICKET, {"type": "regex", "value": r"^\d"}, False),
    (JSON, {"type": "is-json"}, True),
    (TICKET, {"type": "is-json"}, False),
    (INSIDE, {"type": "is-json"}, False),
    (JSON, {"type": "is-json", "value": SCHEMA}, True),
    (JSON, {"type": "is-json", "value": {**SCHEMA, "required": ["id"]}}, False),
    (INSIDE, {"type": "contains-json", "value": SCHEMA}, True),
    (TICKET, {"type": "contains-json"}, False),
    (TICKET, {"type": "word-count", "value": 7}, True),
    (TICKET, {"type": "word-count", "value": {"min": 8}}, False),
    (TICKET, {"type": "word-count", "value": {"min": 2, "max": 9}}, True),
    (TICKET, {"type": "latency", "threshold": 60000}, True),
    (TICKET, {"type": "levenshtein", "value": "A ticket to Oslo costs 330 euros", "threshold": 2}, True),
    (TICKET, {"type": "levenshtein", "value": "Something else"}, False),
    (XML, {"type": "is-xml"}, True),
    (XML, {"type": "is-xml", "value": {"requiredElements": ["order.id"]}}, True),
    (XML, {"type": "is-xml", "value": {"requiredElements": ["order.price"]}}, False),
    (f"Sure: {XML} Bye", {"type": "is-xml"}, False),
    (f"Sure: {XML} Bye", {"type": "contains-xml"}, True),
    (TICKET, {"type": "contains-xml"}, False),
    (TICKET, {"type": "python", "value": "'Oslo' in output"}, True),
    (TICKET, {"type": "python", "value": "len(output) > 100"}, False),
    (TICKET, {"type": "python", "value": "words = output.split()\nreturn len(words) / 10", "threshold": 0.8}, False),
    (TICKET, {"type": "python", "value": "return {'pass': 'Oslo' in output, 'score': 1, 'reason': 'it'}"}, True),
    (TICKET, {"type": "python", "value": "context['vars']['answer'] == output"}, True),
    ("TOOLS search book", {"type": "trajectory:tool-used", "value": "search"}, True),
    ("TOOLS search search", {"type": "trajectory:tool-used", "value": {"pattern": "sea*", "min": 2}}, True),
    ("TOOLS search search", {"type": "trajectory:tool-used", "value": {"name": "search", "max": 1}}, False),
    ("TOOLS search wait book", {"type": "trajectory:tool-sequence", "value": {"steps": ["search", "book"]}}, True),
    ("TOOLS book search", {"type": "trajectory:tool-sequence", "value": {"steps": ["search", "book"]}}, False),
    (
        "TOOLS search wait book",
        {"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": ["search", "book"]}},
        False,
    ),
    ("TOOLS search", {"type": "trajectory:tool-args-match", "value": {"name": "search", "args": {"to": "Oslo"}}}, True),
    (
        "TOOLS search",
        {"type": "trajectory:tool-args-match", "value": {"name": "search", "args": {"to": "Oslo"}, "mode": "exact"}},
        False,
    ),
    ("TOOLS search book", {"type": "trajectory:step-count", "value": {"type": "tool", "max": 1}}, False),
    ("TOOLS search book", {"type": "tool-call-f1", "value": ["search", "book"]}, True),
    ("TOOLS search wait", {"type": "tool-call-f1", "value": ["search", "book"]}, False),
    ("TOOLS search wait", {"type": "tool-call-f1", "value": ["search", "book"], "threshold": 0.5}, True),
]
"""What the agent answers, an assertion, and whether promptfoo lets it pass; with `not-`, the opposite."""
TOOLS = ["search", "pay"]
OF_LISTS: list[tuple[str, dict[str, Any], bool]] = [
    ("TOOLS pay search", {"type": "trajectory:tool-used", "value": TOOLS}, True),
    ("TOOLS search book", {"type": "trajectory:tool-used", "value": TOOLS}, False),
    ("TOOLS pay search", {"type": "not-trajectory:tool-used", "value": TOOLS}, False),
    ("TOOLS search book", {"type": "not-trajectory:tool-used", "value": TOOLS}, False),
    ("TOOLS wait book", {"type": "not-trajectory:tool-used", "value": TOOLS}, True),
    ("TOOLS search", {"type": "not-trajectory:tool-used", "value": ["search"]}, False),
    (TICKET, {"type": "not-contains-all", "value": ["Oslo", "330"]}, True),
    (TICKET, {"type": "not-contains-any", "value": ["Oslo", "330"]}, False),
    (TICKET, {"type": "not-icontains-any", "value": "bergen, 330"}, True),
    ("TOOLS search", {"type": "not-trajectory:tool-sequence", "value": TOOLS}, True),
    ("TOOLS search", {"type": "not-tool-call-f1", "value": TOOLS}, True),
]
"""The same of lists, where `not-` forbids some lists as a whole and each member of others."""


class Repeating(viva.VirtualUser):
    """An agent that repeats what it is told, and calls the tools that it is told."""

    def get_reply_from_agent(self, message: str) -> str | viva.Reply:
        if not message.startswith("TOOLS "):
            return message
        steps = tuple(
            viva.Step(f"s{number}", viva.StepKind.TOOL, tool=name, tool_input={"to": "Oslo", "day": "Friday"})
            for number, name in enumerate(message.split()[1:], 1)
        )
        return viva.Reply("Done.", steps=steps)


def test_the_checks_of_an_imported_suite_agree_with_promptfoo(tmp_path: Path) -> None:
    decided = [
        (answer, {**assertion, "type": prefix + assertion["type"]}, passes is not bool(prefix))
        for answer, assertion, passes in VERDICTS
        for prefix in ("", "not-")
    ] + OF_LISTS
    tests = [
        {"description": f"{number:03}", "vars": {"answer": answer}, "assert": [assertion]}
        for number, (answer, assertion, _) in enumerate(decided)
    ]
    config = {"prompts": ["{{answer}}"], "providers": ["x"], "tests": tests}
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    report = viva.import_cases(tmp_path / "promptfooconfig.yaml", tmp_path / "cases")
    assert report.marked == {}
    viva.run_suite(tmp_path / "cases", Repeating, out=tmp_path / "journal")
    scores = {record.setting.case: record.score for record in read_records(tmp_path / "journal")}
    wrong = [row for row, name in zip(decided, report.cases, strict=True) if scores[name] != float(row[2])]
    assert wrong == []
