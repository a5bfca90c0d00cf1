"""A point that is bound to a round: the judge is told so, and no hit rests on another round."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model_server import Request, text_of, verdict
from tests.scripted_judges import ScriptedModel
from viva.cases import Case, ScoringPoint
from viva.judge import ScoringPointsEvaluator
from viva.records.evaluator import Context
from viva.records.transcript import Round, Step, Transcript
from viva.records.verdict import Verdict

BOOKED = Step("s2", tool="book", tool_input={"seats": 2}, result="reference YK7")
TALK = Transcript(
    (
        Round(1, "A table, please.", "For how many people?"),
        Round(2, "For two.", "I have booked it.", (BOOKED,)),
        Round(3, "Thank you.", "You are welcome. For how many people was it?"),
    )
)
STATEMENT = "The agent asks for the number of people."


async def judged(
    number: int | None, *answers: str, shown: str | None = None, talk: Transcript = TALK
) -> tuple[Verdict, list[str]]:
    """Return the verdict, and the last words that the judge was sent each time."""
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(text_of(request["messages"][-1]))
        return answers[min(len(asked), len(answers)) - 1]

    point = ScoringPoint("p", STATEMENT, 1.0, round=number, shown=shown)
    case = Case("case", task_description="Book a table.", scoring_points=[point])
    insight = await ScoringPointsEvaluator("model", None, ScriptedModel(answer)).evaluate(talk, Context("run", case))
    (one,) = insight.verdicts
    return one, asked


def hit(number: int, quote: str) -> str:
    return verdict("hit", "It does so.", {"round": number, "quote": quote})


async def test_the_judge_is_told_which_round_counts_and_only_where_one_does() -> None:
    one, (asked,) = await judged(1, hit(1, "For how many people?"))
    assert (one.label, [each.where for each in one.evidence]) == ("hit", ["r1"])
    assert "Only [round 1] counts for this statement." in asked
    assert "[round 3] agent" in asked  # the whole conversation is shown
    _, (asked,) = await judged(None, hit(1, "For how many people?"))
    assert "counts for this statement" not in asked


@pytest.mark.parametrize(
    ("number", "quoted", "quote"),
    [
        (2, 1, "For how many people?"),
        (2, 3, "You are welcome."),
        (2, 2, "For two."),  # the examiner
        (3, 2, "reference YK7"),  # a step
        (3, 2, "I have booked it."),
    ],
)
async def test_a_hit_that_quotes_another_round_is_asked_again_and_then_unsure(
    number: int, quoted: int, quote: str
) -> None:
    one, asked = await judged(number, hit(quoted, quote))
    assert (one.label, one.flags) == ("unsure", ("quote-not-found",))
    assert len(asked) > 1
    assert "Look again and answer in full" in asked[1]


async def test_words_of_the_round_are_found_under_a_wrong_number() -> None:
    one, _ = await judged(2, hit(1, "I have booked it."))
    assert (one.label, [each.where for each in one.evidence]) == ("hit", ["r2"])


@pytest.mark.parametrize(("number", "label"), [(2, "hit"), (3, "unsure")])
async def test_the_layer_that_a_point_requires_is_looked_for_in_its_round(number: int, label: str) -> None:
    one, _ = await judged(number, verdict("hit", "So.", {"round": 2, "quote": "reference YK7"}), shown="step")
    assert one.label == label


async def test_a_miss_may_quote_any_round() -> None:
    one, asked = await judged(2, verdict("miss", "It asks in round 1.", {"round": 1, "quote": "For how many people?"}))
    assert (one.label, [each.where for each in one.evidence], len(asked)) == ("miss", ["r1"], 1)


async def test_a_round_that_did_not_take_place_is_unsure_and_no_model_is_asked() -> None:
    one, asked = await judged(4, hit(1, "For how many people?"))
    assert (one.label, one.reason, asked) == ("unsure", "round 4 did not take place", [])


def test_a_round_and_the_files_after_the_last_one_exclude_each_other() -> None:
    from viva.cases import CaseError

    point: dict[str, Any] = {"score_point": "It writes.", "round": 2, "shown": "file"}
    with pytest.raises(CaseError, match="shown: file is about the files after the last round"):
        Case("case", task_description="Write.", scoring_points=[point], evidence="files")
