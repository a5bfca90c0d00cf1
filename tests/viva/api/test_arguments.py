"""Wrong arguments of the public functions: Viva's own error names the parameter, the value and what is accepted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import viva
from tests.viva.api.conftest import CaseMaker, Parrot
from viva.api.arguments import checked
from viva.api.judgements import judge

FUNCTIONS: list[Callable[..., Any]] = [
    *(viva.examine, viva.run_suite, viva.replay, judge, viva.trace, viva.load_case, viva.read_journal),
    *(viva.bisect, viva.suite, viva.import_cases, viva.export_cases),
    *(viva.EvaluationAgent, viva.EvaluationAgent.evaluate, viva.EvaluationAgent.message_constructor),
]
FIRST = {"agent": Parrot, "agents": Parrot, "case": "echo", "cases": "echo", "journals": "j", "recordings": "chat:x"}
VALID = {
    **FIRST,
    "journal": "j",
    "self": object(),
    "name": "x",
    "request": "x",
    "log_path": "x",
    "source": "x",
    "out": "y",
    "format": "rows",
}


class Unshowable:
    """An object that cannot be put into words."""

    def __repr__(self) -> str:
        raise RuntimeError


def parameters() -> Iterator[Any]:
    for function in FUNCTIONS:
        for each in inspect.signature(function).parameters.values():
            # Any object may be a subscriber: what it lacks is told by name.
            if each.name not in ("self", "subscribers") and each.kind is not inspect.Parameter.VAR_KEYWORD:
                yield pytest.param(function, each, id=f"{function.__qualname__}-{each.name}")


def call_with(function: Callable[..., Any], name: str, value: object) -> None:
    required = {
        each.name: VALID[each.name]
        for each in inspect.signature(function).parameters.values()
        if each.default is inspect.Parameter.empty and each.kind is not inspect.Parameter.VAR_KEYWORD
    }
    if name == "mapping" and function is viva.trace:  # of `trace`: the readers of chats take none
        required["recordings"] = "otlp:x"
    function(**{**required, name: value})


@pytest.mark.parametrize(("function", "parameter"), list(parameters()))
def test_a_value_of_a_wrong_type_is_a_usage_error_that_names_the_parameter(
    function: Callable[..., Any], parameter: inspect.Parameter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = parameter.name
    wrong: list[object] = [b"\xff", 3.5j, {3: 4}]
    if "None" not in str(parameter.annotation):
        wrong.append(None)
    for value in wrong:
        with pytest.raises(viva.SetupError) as caught:
            call_with(function, name, value)
        words = str(caught.value)
        assert f"{name} must be " in words, words
        assert words.endswith(f", not {value!r}."), words
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"cases": None},
            r"viva\.run_suite\(\): cases must be a Case, a text or a path, or several of these, not None",
        ),
        ({"cases": ["echo", 3]}, r"not \['echo', 3\]"),
        ({"cases": iter([3])}, r"cases must be .*, not \(3,\)"),
        (
            {"agents": None},
            r"agents must be a text or a callable \(class or function\), or several .* a mapping of names",
        ),
        ({"agents": {3: Parrot}}, "agents must be"),
        ({"agents": [None]}, "agents must be"),
        ({"evaluators": [3]}, "evaluators must be a text, an Evaluator or a callable"),
        ({"sinks": 3}, "sinks must be a text or a Sink, or several of these, not 3"),
        ({"out": 3}, "out must be a text, a path or None, not 3"),
        ({"out": "a\0b"}, "out contains a null character"),
        ({"trials": True}, "trials must be a whole number, at least 1, not True"),
        ({"trials": 0}, "trials must be a whole number, at least 1, not 0"),
        ({"max_cost": float("nan")}, "max_cost must be a number above 0 or None, not nan"),
        ({"threshold": 2}, "threshold must be a number from 0 to 1, not 2"),
        ({"resume": "no"}, "resume must be True or False, not 'no'"),
        ({"names": 3}, "names must be a text, or several of these, not 3"),
        ({"engine": None}, "engine must be a text, not None"),
        ({"model": 3}, "model must be a text or a path, not 3"),
        ({"prices": 3}, "prices must be a text or several in a list, not 3"),
        ({"prices": [3]}, "each of prices must be a text or a path, not 3"),
        ({"workspaces": "x"}, "has no option 'workspaces'"),
        ({"out": Unshowable()}, "not an object of type Unshowable"),
    ],
)
def test_the_message_says_what_was_given_and_what_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(viva.SetupError, match=words):
        viva.run_suite(**{"cases": "echo", "agents": Parrot, **arguments})
    assert not list(tmp_path.iterdir())


def test_a_missing_or_an_additional_argument_names_the_public_function() -> None:
    with pytest.raises(viva.SetupError, match=r"viva\.examine\(\): missing a required argument: 'agent'"):
        viva.examine("echo")  # type: ignore[call-arg]
    with pytest.raises(viva.SetupError, match=r"viva\.load_case\(\): got an unexpected keyword argument 'name'"):
        viva.load_case("echo", name=3)  # type: ignore[call-arg]


class Brief(NamedTuple):
    """An evaluator whose class is derived from a plain type."""

    words: int

    def evaluate(self, transcript: viva.Transcript, context: viva.Context) -> bool:
        return all(len((each.agent or "").split()) <= self.words for each in transcript.rounds)


class Kept(list[viva.RunRecord]):
    """A sink that is a list."""

    async def write(self, record: viva.RunRecord, transcript: viva.Transcript) -> None:
        self.append(record)

    async def close(self) -> None: ...


def test_a_part_may_be_of_a_class_that_is_derived_from_a_plain_type(write_case: CaseMaker) -> None:
    kept = Kept()
    run = viva.examine(write_case(), Parrot, sandbox="process", evaluators=Brief(3), sinks=[kept])
    assert run.score == 1.0
    assert kept == [run.record]


def test_one_name_or_tag_selects_cases_as_a_list_does(write_case: CaseMaker) -> None:
    write_case("first", tags=["quick"])
    write_case("second")
    for selected in ({"names": "first"}, {"names": ["first"]}, {"tags": "quick"}):
        result = viva.run_suite(".", Parrot, sandbox="process", **selected)
        assert {run.setting.case for run in result.runs()} == {"first"}


def test_every_public_function_of_the_interface_is_listed_here() -> None:
    listed = {judge, *FUNCTIONS}
    for name in viva.__all__:
        public = judge if name == "judge" else getattr(viva, name)
        if public.__module__.startswith("viva.api.") and not isinstance(public, type):
            assert public in listed or getattr(viva, name.removesuffix("_async")) in {*listed, viva.judge}, name


def test_a_check_accepts_what_the_annotation_accepts() -> None:
    @checked
    def function(number: float, several: str | list[int] | None = None) -> float:
        return number

    assert function(3) == 3
    assert function(3.5, "x") == 3.5
    with pytest.raises(viva.SetupError, match="number must be a number, not True"):
        function(True)


@pytest.mark.parametrize(
    "wrong", [None, 3, "nope", b"x", {"a": 1}, object(), [3], lambda: 1], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("name", ["cases", "max_concurrency", "timeout", "options", "name", "prompt"])
def test_a_wrong_argument_of_an_observed_suite_is_a_usage_error(name: str, wrong: Any) -> None:
    if (name == "options" and wrong is None) or (name in ("max_concurrency", "timeout") and wrong == 3):
        return  # right
    given: dict[str, Any] = {"cases": [viva.EvalCase("one", "Say hello.")]}
    if name in ("name", "prompt"):
        if wrong == "nope":
            return
        given["cases"] = [viva.EvalCase(**{"name": "one", "prompt": "Say hello.", name: wrong})]
    else:
        given[name] = wrong
    with pytest.raises(viva.SetupError, match=name):
        viva.EvalSuite(client=lambda case: None, **given)


@pytest.mark.parametrize("wrong", [None, "x", [], True, object()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", ["context_tokens", "answers", "seconds", "most"])
def test_a_number_of_an_analysis_that_is_none_is_a_usage_error(name: str, wrong: Any) -> None:
    with pytest.raises(viva.SetupError, match=rf"{name} must be a (whole )?number, not"):
        viva.EvalAgentOptions(**{name: wrong})


@pytest.mark.parametrize("wrong", [3, "x", [], {"enabled": True}], ids=lambda each: type(each).__name__)
def test_observing_with_something_else_than_options_is_a_usage_error(wrong: Any) -> None:
    with pytest.raises(viva.SetupError, match="options must be an EvalOptions"):
        viva.EvalHarness(wrong)
    with pytest.raises(viva.SetupError, match="options must be an EvalOptions"):
        viva.EvalHarness.attach(object(), wrong)
