"""What a source expects of the agent, as scoring points."""

from __future__ import annotations

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.wording import as_text
from viva.interchange.source import Source

AGREES = "The agent's answer agrees with the expected answer: "
ANY = "The agent's answer agrees with one of the expected answers:\n"
USUAL = ("answer", "output", "response", "expected", "expected_response", "expected_output", "text", "result", "label")
NAMED = "The agent's answer agrees with the expected KEY: "
FACTS = {
    "criteria": "",
    "expected_facts": "The agent says, or what it says implies: ",
    "guidelines": "The agent keeps to this guideline: ",
}
"""Keys whose values are lists, each element of which is a point of its own."""
STATEMENT = "a statement of a scoring point"


def add_expected(draft: CaseDraft, expected: Source) -> None:
    """Add points for what is expected: text, several texts of which one will do, or a mapping of them."""
    value = expected.peek()
    if value in (None, "", [], {}):
        return
    if expected.is_mapping:
        for key, each in expected.items():
            _add_named(draft, key, each)
    elif expected.is_list:
        lines = "\n".join(
            f"- {each.take() if each.is_text else as_text(each.express(STATEMENT))}" for each in expected.elements()
        )
        draft.points.append(ANY + lines)
    else:
        draft.points.append(AGREES + (expected.take() if expected.is_text else as_text(expected.express(STATEMENT))))


def _add_named(draft: CaseDraft, key: str, expected: Source) -> None:
    if key in FACTS:
        facts = [expected] if expected.is_text else list(expected.elements())
        draft.points += [
            FACTS[key] + as_text(fact.take() if fact.is_text else fact.express(STATEMENT)) for fact in facts
        ]
    elif key in USUAL:
        add_expected(draft, expected)
    elif expected.peek() not in (None, "", [], {}):
        value = expected.take() if expected.is_text else as_text(expected.express(STATEMENT))
        draft.points.append(f"{NAMED.replace('KEY', key)}{value}")
