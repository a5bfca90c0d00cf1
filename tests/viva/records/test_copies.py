"""A changed copy is what `dataclasses.replace` returns."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pytest

from viva.exam.subscribers import RunHeader
from viva.records.copies import changed, make_quickly
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


@dataclass(frozen=True, slots=True)
class _Plain:
    one: str
    two: list[str] = field(default_factory=list)
    _: KW_ONLY
    three: int = 3

    def __post_init__(self) -> None:
        if self.one == "old":
            object.__setattr__(self, "one", "new")


@dataclass(frozen=True, slots=True)
class _Quick(_Plain):
    pass


@dataclass(frozen=True, slots=True)
class _Made:
    one: str
    two: list[str] = field(default_factory=list)
    _: KW_ONLY
    three: int = 3

    def __post_init__(self) -> None:
        if self.one == "old":
            object.__setattr__(self, "one", "new")


class _Heir(_Made):
    pass


def test_records_that_are_made_quickly_are_as_those_that_are_not() -> None:
    before = inspect.signature(_Made)
    make_quickly(_Made, _Quick)  # one with a base class stays as it is
    make_quickly(_Made)
    made = _Made("old")
    assert (made.one, made.two, made.three, type(made)) == ("new", [], 3, _Made)
    assert made.two is not _Made("old").two
    assert _Made("a", ["b"], three=4) == dataclasses.replace(_Made("a", three=4), two=["b"])
    assert inspect.signature(_Made) == before
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.one = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'one'"):
        _Made()  # type: ignore[call-arg]
    assert (type(_Heir("b")), _Heir("b").one, type(_Quick("b")), _Quick("b").one) == (_Heir, "b", _Quick, "b")
