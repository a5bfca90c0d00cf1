"""The columns of tests in CSV files that are not variables, and assertions in one line: `contains-any: yes, no`."""

from __future__ import annotations

import re
from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.ledger import Gap
from viva.interchange.promptfoo.points import PointMaker
from viva.interchange.promptfoo.tests import PromptfooTest

_LINE = re.compile(r"(?P<kind>[a-z][a-z0-9:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?:(?P<value>.*)", re.S)
_SHORT = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_WITHOUT_VALUE = (
    "is-json",
    "contains-json",
    "is-xml",
    "contains-xml",
    "is-html",
    "contains-html",
    "is-sql",
    "is-refusal",
)


def read_line(line: str) -> dict[str, Any]:
    """Return the assertion that a line of text stands for."""
    text = line.strip()
    if text.removeprefix("not-") in _WITHOUT_VALUE:
        return {"type": text}
    match = _LINE.fullmatch(text)
    if match is None or match["value"].startswith("//"):
        return {"type": "equals", "value": line}
    kind = _SHORT.get(match["kind"], match["kind"])
    made: dict[str, Any] = {"type": kind, "value": match["value"].strip()}
    return made | ({"threshold": float(match["threshold"])} if match["threshold"] else {})


def add_columns(draft: CaseDraft, test: PromptfooTest, points: PointMaker) -> None:
    """Add what the columns say beside variables: assertions, a description, metadata, a threshold."""
    metric = next((node.peek() for name, node in test.columns if name == "__metric" and node.is_text), None)
    for name, node in test.columns:
        if not node.is_text:
            continue
        text = str(node.peek())
        if re.fullmatch(r"__expected\d*", name):
            points.add_plain(node, read_line(text) | ({"metric": metric} if metric else {}))
        elif name == "__description":
            draft.title = str(node.express("the name of a case"))
        elif name == "__metric":
            node.express("metadata of a point")
        elif name == "__threshold" and re.fullmatch(r"0(\.\d+)?|1(\.0+)?", text.strip()):
            draft.fields["threshold"] = float(node.express("threshold"))
        elif name.startswith("__metadata:"):
            draft.metadata[name.partition(":")[2].removesuffix("[]")] = node.take()
        elif name in ("__prefix", "__suffix") and draft.script:
            said = str(node.take())
            draft.script[-1] = said + draft.script[-1] if name == "__prefix" else draft.script[-1] + said
        else:
            node.report(Gap.NO_HOME, "a column of promptfoo's that Viva's cases have nothing like")
