"""What the lint of a case says to change about a mistake is about that mistake."""

from __future__ import annotations

import pytest

from tests.viva.conftest import Desk
from viva.cases import lint_case, load_case
from viva.lint.mistakes import OTHERWISE, with_advice


@pytest.mark.parametrize(
    "code",
    [
        "assert chat_histroy",
        "assert totl",
        "print(total)\ntotal = 1",
        "assert True",
        "x = len(rounds)",
        "print(open('a.txt').read())",
        "rounds[0] == 1",
        "assert (rounds, 'none')",
        "assert 'x' in chat_history[0]",
        "assert rounds[0]['reply']",
        "assert rounds.first",
        "exit()",
        "import pandas\nassert pandas",
    ],
)
def test_each_mistake_in_a_check_has_advice_of_its_own(desk: Desk, code: str) -> None:
    _is_advised(desk, scoring_points=[{"score_point": "It speaks.", "weight": 1, "eval_code": code}])


@pytest.mark.parametrize(
    "fields",
    [
        {"script": ["Say {n}."]},
        {"script": ["Fill in {first_name}."]},
        {"script": [{"for": "x in 1..3", "say": "Put {x} into {name}."}]},
        {"facts": [{"says": "my dog is ill", "when": "never"}], "opening": "My dog is ill."},
        {"facts": [{"says": "A", "when": "asked"}, {"says": "A", "when": "asked"}]},
        {"facts": [{"says": "A", "when": {"step": 2}}], "max_rounds": 1},
        {"facts": [{"says": "A", "when": "start"}], "opening": "Hello."},
        {"insist": {"on": "x", "times": 5}, "max_rounds": 5},
        {"strategy": {"goal": "It speaks."}},
        {"strategy": {"name": "authority"}},
    ],
)
def test_each_mistake_in_what_the_examiner_says_has_advice_of_its_own(desk: Desk, fields: dict[str, object]) -> None:
    _is_advised(desk, **fields)


def _is_advised(desk: Desk, **fields: object) -> None:
    found = lint_case(load_case(desk.folder / desk.case(**fields)))
    assert found
    for each in found:
        words, advice = with_advice(each.message)
        assert words
        assert advice
        assert OTHERWISE not in advice, each.message
