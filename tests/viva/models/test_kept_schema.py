"""The schema of an answer is made once, and is that of the answer's own class."""

from __future__ import annotations

import pytest
from openai.lib._parsing._completions import type_to_response_format_param
from pydantic import BaseModel, ValidationError

from viva.judge.scoring_points.answer import PointAnswer
from viva.judge.session.answer import SessionAnswer
from viva.models.autogen.kept_schema import with_kept_schema


@pytest.mark.parametrize("kind", [PointAnswer, SessionAnswer])
def test_a_provider_is_sent_the_same_schema_each_time(kind: type[BaseModel]) -> None:
    expected, plain = type_to_response_format_param(kind), kind.model_json_schema()
    kept = with_kept_schema(kind)
    assert [type_to_response_format_param(kept) for _ in range(2)] == [expected] * 2
    assert kept.model_json_schema() == plain
    assert kept.model_json_schema(mode="serialization") == kind.model_json_schema(mode="serialization")
    assert with_kept_schema(kind) is kept


def test_an_answer_is_of_the_class_that_was_asked_for_and_held_to_its_fields() -> None:
    class Answer(BaseModel):
        number: int

    kept = with_kept_schema(Answer)
    assert isinstance(kept.model_validate_json('{"number": 3}'), Answer)
    with pytest.raises(ValidationError, match="1 validation error for Answer"):
        kept.model_validate_json('{"number": "three"}')
