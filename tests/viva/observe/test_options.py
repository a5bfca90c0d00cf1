"""Options of observing: set in code, by the environment, and sink by sink."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import viva.observe.options as options_module
from viva.errors import SetupError
from viva.observe.eval_harness import EvalHarness
from viva.observe.options import EvalOptions
from viva.sinks.jsonl import JsonLinesSink


def test_observing_is_off_unless_somebody_turns_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENABLE_EVALS", raising=False)
    assert not EvalOptions().is_enabled
    assert not EvalOptions.from_environment().is_enabled
    monkeypatch.setenv("ENABLE_EVALS", "true")
    assert EvalOptions().is_enabled
    assert not EvalOptions(enabled=False).is_enabled


def test_the_environment_sets_everything_that_text_can_say() -> None:
    options = EvalOptions.from_environment(
        {
            "ENABLE_EVALS": "1",
            "EVALS_WORKING_DIRECTORY": "/somewhere",
            "EVALS_CAPTURE_CONTENT": "yes",
            "EVALS_SINKS": "jsonl:a.jsonl, otel",
            "EVALS_EVALUATORS": "operational,mine.py:Judge",
        }
    )
    assert options == EvalOptions(
        enabled=True,
        working_directory="/somewhere",
        capture_content=True,
        sinks=["jsonl:a.jsonl", "otel"],
        evaluators=("operational", "mine.py:Judge"),
    )
    assert EvalOptions.from_environment({}) == EvalOptions(enabled=False)


@pytest.mark.parametrize("name", ["ENABLE_EVALS", "EVALS_CAPTURE_CONTENT"])
def test_a_switch_with_another_value_is_off_and_told_once(
    name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options_module, "_TOLD", set())
    for _ in range(2):
        options = EvalOptions.from_environment({name: "maybe"})
        assert (options.enabled, options.capture_content) == (False, False)
    [told] = [record.message for record in caplog.records if record.name == "viva"]
    assert told.startswith(f"{name} must be 1, true, yes or on")


def test_a_mistake_in_the_switch_stops_no_host(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options_module, "_TOLD", set())
    monkeypatch.setenv("ENABLE_EVALS", "2")
    assert not EvalHarness.attach(NoSession()).enabled  # type: ignore[arg-type]
    assert not EvalHarness(EvalOptions()).enabled
    assert [record.levelname for record in caplog.records if "ENABLE_EVALS" in record.message] == ["WARNING"]


OFF = """
import sys
import viva
viva.EvalHarness.attach(object(), viva.EvalOptions(enabled=False))
heavy = ("viva", "pydantic", "asyncio", "yaml", "httpx")
print(sorted(name for name in sys.modules if name.partition(".")[0] in heavy))
"""


def test_a_host_in_which_observing_is_off_imports_next_to_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == [
        "viva",
        "viva.errors",
        "viva.observe",
        "viva.observe.eval_harness",
        "viva.observe.options",
    ]


class NoSession:
    """Has no `on`, and must not be asked for it."""


class Remembering:
    async def write(self, record: object, transcript: object) -> None:
        pass


def test_sinks_are_added_one_after_the_other_and_the_local_one_is_the_default(tmp_path: Path) -> None:
    mine = Remembering()
    options = (
        EvalOptions(working_directory=tmp_path).add_local_sink().add_sink(mine).add_local_sink(tmp_path / "b.jsonl")
    )
    made = options.make_sinks()
    assert [type(sink) for _, sink in made] == [JsonLinesSink, Remembering, JsonLinesSink]
    assert made[1] == ("Remembering", mine)
    assert (tmp_path / "runs" / "history.jsonl").exists()
    assert (tmp_path / "b.jsonl").exists()
    (only,) = EvalOptions(working_directory=tmp_path / "other").make_sinks()
    assert only[0] == "jsonl"
    assert (tmp_path / "other" / "runs" / "history.jsonl").exists()


def test_the_open_telemetry_sink_takes_its_own_options() -> None:
    options = EvalOptions().add_open_telemetry_sink()
    assert options.sinks == ["otel"]
    options.add_open_telemetry_sink(prefix="copilot.evals")
    assert type(options.sinks[1]).__name__ == "OpenTelemetrySink"
    with pytest.raises(SetupError, match="otel cannot be created"):
        options.add_open_telemetry_sink(colour="green")


@pytest.mark.parametrize("sink", [Remembering, object(), "there-is-none"])
def test_what_is_no_sink_is_refused(sink: object) -> None:
    with pytest.raises(SetupError):
        EvalOptions().add_sink(sink).make_sinks()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("evaluators", "words"),
    [
        (("operational", "operational"), "two evaluators"), ((object(),), "not an evaluator"),
        ("operational", r"must be a tuple: \('operational',\)"), ((), "empty"),
    ],
)  # fmt: skip
def test_what_is_no_evaluator_or_there_twice_is_refused(evaluators: tuple[object, ...], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        EvalOptions(evaluators=evaluators).named_evaluators()  # type: ignore[arg-type]


def test_a_single_sink_that_is_no_list_is_called_that() -> None:
    with pytest.raises(SetupError, match="must be a list"):
        EvalOptions(sinks="jsonl:runs/a.jsonl").make_sinks()  # type: ignore[arg-type]
