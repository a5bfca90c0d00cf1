"""Reading a model's answer in a form: what is only not escaped is read, everything else that is wrong is refused."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from viva.errors import ModelAnswerError, SchemaError
from viva.models.answer import read_answer
from viva.records.json_in_text import json_objects


class Verdict(BaseModel):
    reason: str
    label: str


def test_line_breaks_inside_of_strings_are_read_as_they_are() -> None:
    text = '{"reason": "First.\n\tSecond.", "label": "yes"}'
    assert read_answer(text, "stop", Verdict)[1] == Verdict(reason="First.\n\tSecond.", label="yes")
    assert [value["reason"] for _, _, value in json_objects(f"So:\n{text}\n")] == ["First.\n\tSecond."]


@pytest.mark.parametrize("text", ["\\ud800", "\\uDC00, \\\\\\uDBFF"])
def test_half_a_character_is_read_as_it_is_shown_and_can_be_stored(text: str) -> None:
    answer = f'{{"reason": "{text}", "label": "\\ud83d\\ude00"}}'
    shown = text.lower().replace("\\\\", "\\")
    assert read_answer(answer, "stop", Verdict)[1] == Verdict(reason=shown, label="\U0001f600")
    assert [value for _, _, value in json_objects(answer)] == [{"reason": shown, "label": "\U0001f600"}]


@pytest.mark.parametrize("text", ['{"reason": "a\n", "label": "yes"', '{"reason": "a\nb"}', "a\nb", ""])
def test_an_answer_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        read_answer(text, "stop", Verdict)


def test_a_duplicate_key_is_found_beside_a_line_break() -> None:
    with pytest.raises(ModelAnswerError, match="duplicate key"):
        read_answer('{"reason": "a\nb", "label": "no", "label": "yes"}', "stop", Verdict)
