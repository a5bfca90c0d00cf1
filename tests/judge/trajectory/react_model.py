"""A model that judges trajectories by a script: what it says of each step is known beforehand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from tests.model_server import OWN_MARK, Request, text_of

Label = Callable[[str], str]
FIELD = re.compile(r"^\[([^\]\n]+)\]:\n((?:    .*\n?)*)", re.MULTILINE)


def fields_of(request: Request) -> Mapping[str, str]:
    """The fields of the data in a question, as the judge is shown them."""
    words = "\n".join(text_of(message) for message in request["messages"])
    data = words.rpartition("----- data ")[0].rpartition(" begins -----")[2]
    return {name: "\n".join(line[4:] for line in text.splitlines()) for name, text in FIELD.findall(data)}


def judge(labels: Mapping[str, str]) -> Callable[[Request], str]:
    """Make a model that answers by evaluator.

    Args:
        labels: `thought_to_tool`, `query_to_thought` or `sequence`, and then optionally ` ` and words of the data for
            which the label holds; the longest that fits counts.
    """

    def play(request: Request) -> str:
        fields = fields_of(request)
        kind = (
            "sequence"
            if "Steps" in fields
            else "query_to_thought"
            if "Agent's Current Thought" in fields
            else "thought_to_tool"
        )
        data = "\n".join(text for name, text in fields.items() if name not in ("Available Tools", "Instructions"))
        fitting = [
            key for key in labels if key.split(" ", 1)[0] == kind and (" " not in key or key.split(" ", 1)[1] in data)
        ]
        quoted = fields.get("User Query") or fields["Agent's Thought"]
        label = labels[max(fitting, key=len)]
        return json.dumps(
            {"reason": f"Judged {kind}.", "quotes": [quoted.splitlines()[0]], "mark": OWN_MARK, "label": label}
        )

    return play
