"""An evaluator is any class, function or object that can judge; one that cannot is refused with its place."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from viva.errors import SetupError
from viva.judge.loaded_evaluator import LoadedEvaluator, check_evaluator, load_evaluator
from viva.judge.registry import find_evaluators, name_evaluators
from viva.judge.success import SuccessEvaluator

HERE = Path(__file__)


class Brevity:
    def __init__(self, words: int = 5, tone: str = "dry") -> None:
        self.words, self.tone = words, tone

    def evaluate(self, transcript: Any, context: Any) -> Any:
        return self.words, self.tone


@dataclass
class HTTPCheckOf2:
    path: Path = Path("x")
    rounds: Annotated[int, Field(ge=1)] = 1

    async def evaluate(self, transcript: Any, context: Any) -> Any:
        return self.path, self.rounds


class Model(BaseModel):
    name: str = "my model"
    strict: bool = True

    def evaluate(self, transcript: Any, context: Any) -> Any:
        return self.strict


class Called:
    def __call__(self, transcript: Any, context: Any) -> Any:
        return "called"


class WithModel:
    def __init__(self, model: Any, level: str = "high", **more: Any) -> None:
        self.found = model, level, sorted(more)

    def evaluate(self, transcript: Any, context: Any) -> Any:
        return self.found


def is_brief(transcript: Any, context: Any, words: int = 5, *, tone: str | None = None) -> Any:
    return words, tone


def with_model(transcript: Any, context: Any, model: Any) -> Any:
    return model


def make_brevity(words: int = 9) -> Brevity:
    return Brevity(words)


def make_function(model: Any) -> Callable[[Any, Any], Any]:
    def inner(transcript: Any, context: Any) -> Any:
        return model

    return inner


def undocumented(*arguments: Any, **more: Any) -> Any:
    return len(arguments), more


@functools.wraps(is_brief)
def decorated(*arguments: Any, **more: Any) -> Any:
    return is_brief(*arguments, **more)


OFFERED = {"model": "M", "kind": "code", "level": None}


def load(thing: Any, **given: Any) -> LoadedEvaluator:
    return load_evaluator("spec", thing, given, OFFERED)


@pytest.mark.parametrize(
    ("thing", "given", "name", "parameters", "returned"),
    [
        (Brevity, {}, "brevity", "tone='dry', words=5", (5, "dry")),
        (Brevity, {"words": 3}, "brevity", "tone='dry', words=3", (3, "dry")),
        (Brevity, {"words": 3, "name": "short"}, "short", "tone='dry', words=3", (3, "dry")),
        (Brevity(2), {}, "brevity", "tone='dry', words=2", (2, "dry")),
        (Brevity(2).evaluate, {}, "evaluate", "", (2, "dry")),
        (Model, {}, "my model", "strict=True", True),
        (Model, {"name": "other", "strict": False}, "other", "name='other', strict=False", False),
        (Called, {}, "called", "", "called"),
        (Called(), {}, "called", "", "called"),
        (is_brief, {}, "is_brief", "words=5", (5, None)),
        (is_brief, {"words": 3, "tone": "dry"}, "is_brief", "tone='dry', words=3", (3, "dry")),
        (functools.partial(is_brief, words=2), {}, "is_brief", "words=2", (2, None)),
        (functools.partial(is_brief, words=2), {"words": 3}, "is_brief", "words=3", (3, None)),
        (decorated, {"words": 3}, "is_brief", "words=3", (3, None)),
        (undocumented, {"words": 3}, "undocumented", "words=3", (2, {"words": 3})),
        (with_model, {}, "with_model", "", "M"),
        (with_model, {"model": "own"}, "with_model", "model='own'", "own"),
        (make_brevity, {}, "brevity", "words=9", (9, "dry")),
        (make_brevity, {"words": 3}, "brevity", "words=3", (3, "dry")),
        (make_function, {}, "inner", "", "M"),
        (lambda transcript, context: 0.5, {}, "lambda", "", 0.5),
        (WithModel, {}, "with_model", "level='high'", ("M", "high", ["kind"])),
        (WithModel, {"level": "low", "x": 1}, "with_model", "level='low', x=1", ("M", "low", ["kind", "x"])),
    ],
)
def test_each_kind_of_evaluator_is_made_named_and_recorded(
    thing: Any, given: dict[str, Any], name: str, parameters: str, returned: Any
) -> None:
    loaded = load(thing, **given)
    assert (loaded.name, loaded.parameters) == (name, parameters)
    assert loaded.evaluate(None, None) == returned


async def test_a_value_is_converted_to_the_annotated_type() -> None:
    loaded = load(HTTPCheckOf2, path="a/b", rounds=2)
    assert await loaded.evaluate(None, None) == (Path("a/b"), 2)
    assert (loaded.name, loaded.parameters) == ("http_check_of2", "path='a/b', rounds=2")


class Needs(Brevity):
    needs = "text"
    name = ""


def test_needs_and_prompts_are_read_from_what_was_made() -> None:
    assert load(Needs).needs == {"text"}
    assert load(Needs).name == "needs"
    assert load(is_brief).needs == frozenset()
    assert load(is_brief).prompts == {}


class OneOnly:
    def evaluate(self, transcript: Any) -> Any: ...


class WithoutSelf:
    def evaluate(transcript, context) -> Any: ...  # type: ignore[no-untyped-def]  # noqa: N805


class TooMany:
    async def evaluate(self, transcript: Any, context: Any, more: Any) -> Any: ...


class Yields:
    async def evaluate(self, transcript: Any, context: Any) -> AsyncIterator[Any]:
        yield 1


class Requires:
    def __init__(self, words: int, tone: str) -> None: ...

    def evaluate(self, transcript: Any, context: Any) -> Any: ...


class Refuses:
    def __init__(self, words: int = 1) -> None:
        if words != 1:
            raise ValueError("only one word")
        raise SystemExit(3)

    def evaluate(self, transcript: Any, context: Any) -> Any: ...


class Static:
    @staticmethod
    def evaluate(transcript: Any, context: Any) -> Any: ...


class Nothing: ...


class Color(Enum):
    RED = "red"


def nothing() -> bool:
    return True


async def nothing_later() -> bool:
    return True


def one_only(transcript: Any) -> Any: ...


def other_name(talk: Any) -> Any: ...


def too_many(transcript: Any, context: Any, more: Any) -> Any: ...


def by_name(*, transcript: Any, context: Any) -> Any: ...


def typed(transcript: Any, context: Any, words: int = 1, of: Sequence[str] = (), color: Color = Color.RED) -> Any: ...


def line(thing: Any) -> str:
    return f"test_loaded_evaluator.py:{thing.__code__.co_firstlineno}: "


CANNOT_JUDGE: list[tuple[Any, dict[str, Any], str]] = [
    (OneOnly, {}, f"{line(OneOnly.evaluate)}def evaluate(self, transcript) must take transcript and context: "),
    (OneOnly(), {}, "transcript) must take transcript and context: def evaluate(self, transcript, context)"),
    (WithoutSelf, {}, "def evaluate(transcript, context) must take transcript and context: def evaluate(self, "),
    (TooMany, {}, f"{line(TooMany.evaluate)}async def evaluate(self, transcript, context, more) must take"),
    (Yields, {}, "is an async generator; return a list instead"),
    (one_only, {}, f"{line(one_only)}def one_only(transcript) must take transcript and context: def one_only("),
    (other_name, {}, "def other_name(talk) must take transcript and context"),
    (by_name, {}, "def by_name(*, transcript, context) must take transcript and context"),
    (too_many, {}, f"{line(too_many)}def too_many(transcript, context, more) requires more. Write too_many(more=…)"),
    (Requires, {}, f"{line(Requires.__init__)}Requires(words, tone) requires words and tone. Write Requires(words=…, "),
    (Requires, {"words": 1}, "requires tone. Write Requires(tone=…), or give it a default"),
    (Refuses, {"words": 2}, "ValueError: only one word"),
    (Refuses, {"words": 2}, f"test_loaded_evaluator.py:{Refuses.__init__.__code__.co_firstlineno + 2}: "),
    (Refuses, {}, "SystemExit: 3"),
    (Brevity, {"word": 3}, "has no parameter 'word'. Did you mean words? It takes words, tone."),
    (Called, {"word": 3}, "has no parameter 'word'. It takes none."),
    (is_brief, {"transcript": 3}, "has no parameter 'transcript'. It takes words, tone."),
    (Brevity, {"words": "three"}, "does not accept words='three': Input should be a valid integer"),
    (typed, {"words": 2.5}, "does not accept words=2.5: Input should be a valid integer"),
    (typed, {"color": "blue"}, "does not accept color='blue': Input should be 'red'"),
    (HTTPCheckOf2, {"rounds": 0}, "does not accept rounds=0: Input should be greater than or equal to 1"),
    (Brevity(), {"words": 3}, "is an object, which takes no parameters: name its class"),
    (Brevity, {"name": 3}, "the name of the evaluator 'spec' must be a text"),
    (5, {}, "is not an evaluator: it is of type int. An evaluator is a function f(transcript, context), or a "),
    (None, {}, "is not an evaluator: it is of type NoneType"),
    (Nothing, {}, "is not an evaluator: it has no evaluate(transcript, context) method"),
    (nothing, {}, "it takes no transcript and no context, and returned bool when it was called"),
    (nothing_later, {}, "it takes no transcript and no context, and returned coroutine when it was called"),
    (lambda: Brevity, {}, "is not an evaluator"),
]


@pytest.mark.parametrize(("thing", "given", "words"), CANNOT_JUDGE)
def test_what_cannot_judge_is_refused_with_its_place_and_what_to_do(
    thing: Any, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(SetupError) as refused:
        load(thing, **given)
    assert words in str(refused.value)
    assert "'spec'" in str(refused.value)


KNOWN_BEFORE = [OneOnly, OneOnly(), WithoutSelf, TooMany, one_only, too_many, Requires, 5, functools.partial(one_only)]


@pytest.mark.parametrize("thing", KNOWN_BEFORE)
def test_a_wrong_signature_is_known_before_anything_is_created(thing: Any) -> None:
    with pytest.raises(SetupError, match="'spec'"):
        check_evaluator("spec", thing, {}, OFFERED)


def test_a_check_creates_nothing_and_refuses_nothing_that_can_judge() -> None:
    for thing in (
        Brevity,
        Brevity(),
        Refuses,
        WithModel,
        with_model,
        make_function,
        is_brief,
        Called,
        Called(),
        Static,
    ):
        check_evaluator("spec", thing, {}, OFFERED)
    with pytest.raises(SetupError, match="has no parameter 'word'"):
        check_evaluator("spec", Brevity, {"word": 3, "name": "x"}, OFFERED)


def test_vivas_own_evaluators_take_no_options_as_parameters() -> None:
    [named] = find_evaluators(["session(level='round')"])
    with pytest.raises(SetupError, match="'level' is set by the options of the command, not by a parameter"):
        named.make(OFFERED)
    [named] = find_evaluators(["loops(window=3)"])
    with pytest.raises(SetupError, match="has no parameter 'window'"):
        named.make(OFFERED)


def test_a_python_program_passes_evaluators_in_any_form() -> None:
    specs, given = name_evaluators([Brevity(2), "reward", "file.py:B(words=3)", is_brief, Called, Called()])
    here = __name__
    assert specs == (
        "brevity(tone='dry', words=2)", "reward", "file.py:B(words=3)", f"{here}:is_brief", f"{here}:Called", "called",
    )  # fmt: skip
    assert set(given) == {specs[0], *specs[3:]}
    # One alone; pydantic's objects can be iterated, too.
    for one, spec in (
        (Model(), "my model(strict=True)"),
        (functools.partial(is_brief, words=2), "is_brief(words=2)"),
        (SuccessEvaluator(lambda transcript: True), "success"),
        ("reward", "reward"),
    ):
        assert name_evaluators(one)[0] == (spec,)
    for broken in (5, [5], [None]):
        with pytest.raises(SetupError, match=r"is not an evaluator\. An evaluator is a function"):
            name_evaluators(broken)
    with pytest.raises(SetupError, match="two evaluators are called"):
        name_evaluators([Brevity(2), Brevity(2)])


@pytest.mark.parametrize("specs", [["a.py:B(words=3)", "a.py:B(words=3)"], ["a.py:B(3)"], ["reward(x=)"]])
def test_specs_that_cannot_be_read_are_mistakes(specs: list[str]) -> None:
    with pytest.raises(SetupError):
        find_evaluators(specs, {"a.py:B": Brevity})


def test_a_part_that_is_given_keeps_its_parameters() -> None:
    named = find_evaluators(["a.py:B(words=3)", "a.py:B(words=4, name='other')"], {"a.py:B": Brevity})
    made = [each.make({}) for each in named]
    assert [(each.name, each.evaluate(None, None)) for each in made] == [("brevity", (3, "dry")), ("other", (4, "dry"))]
