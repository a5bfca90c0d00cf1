"""A changed copy is what `dataclasses.replace` returns."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from viva.exam.subscribers import RunHeader
from viva.records.copies import changed
from viva.records.run_record import Setting
from viva.records.transcript import Round, StopReason, Transcript
from viva.records.verdict import Insight


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Transcript((Round(1, "?"),), stop=StopReason.FINISHED), {"rounds": (), "round_count": 1}),
        (Transcript(notes=("a",)), {}),
        (Insight("e", "r", "hit", 1.0), {"seconds": 2.5}),
        (RunHeader(id="r", subject="s", agent="a", tags=("t",)), {"max_rounds": 3}),
        (Setting(case="c"), {"trial": 2, "prompts": {"a": "b"}}),
    ],
)
def test_a_changed_copy_is_what_replace_returns(record: Any, fields: dict[str, Any]) -> None:
    before = repr(record)
    copy = changed(record, **fields)
    assert copy == dataclasses.replace(record, **fields)
    assert type(copy) is type(record)
    assert copy is not record
    assert repr(record) == before
