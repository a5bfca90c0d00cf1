"""`viva.run_suite`: cases and agents as objects, what is sent where, and going on after a stop."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import viva
from tests.viva.api.conftest import CaseMaker, Length, Parrot


class Kept:
    """A sink, and a subscriber: keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.written: list[str] = []

    async def write(self, record: viva.RunRecord, transcript: viva.Transcript) -> None:
        self.written.append(f"{record.subject} {len(transcript.rounds)}")

    async def close(self) -> None:
        self.written.append("closed")

    def on_start(self, run: viva.RunHeader) -> None:
        self.told.append(f"start {run.subject}")

    async def on_round(self, run: viva.RunHeader, round_: viva.Round) -> None:
        self.told.append(round_.id)

    async def on_end(self, run: viva.RunHeader, record: viva.RunRecord, transcript: viva.Transcript) -> None:
        self.told.append(f"end {record.score}")

    def on_closed(self) -> None:
        self.told.append("closed")


def test_cases_and_agents_of_all_kinds(write_case: CaseMaker) -> None:
    write_case("one")
    write_case("two", tags=["slow"])
    changed = dataclasses.replace(viva.load_case("one"), name="three", max_rounds=1)
    agents = {"first": Parrot, "second": lambda: Parrot(""), "example:careful": "example:careful"}
    result = viva.run_suite(["one", Path("two"), changed], agents, trials=2, sandbox="process")
    assert (result.ended, result.left_out, result.reason) == (18, 0, None)
    assert {group.name: group.runs for group in result.figures.agents} == {
        "first": 6,
        "second": 6,
        "example:careful": 6,
    }
    assert {len(run.transcript.rounds) for run in result.runs() if run.setting.case == "three"} == {1}
    assert viva.run_suite(Path(), Parrot, tags=["slow"], sandbox="process").ended == 1


async def test_a_suite_in_async_code(write_case: CaseMaker) -> None:
    result = await viva.run_suite_async(write_case(), Parrot, sandbox="process")
    assert result.figures.suite.mean == 1.0


def test_sinks_and_subscribers_are_told(write_case: CaseMaker) -> None:
    kept = Kept()
    viva.run_suite(write_case(), Parrot, sandbox="process", sinks=[kept, "jsonl:all.jsonl"], subscribers=kept)
    assert kept.told == ["start exam", "r1", "r2", "end 1.0", "closed"]
    assert kept.written == ["exam 2", "closed"]
    assert json.loads(Path("all.jsonl").read_text())["subject"] == "exam"


def test_a_subscriber_or_sink_that_raises_stops_nothing(
    write_case: CaseMaker, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Kept):
        def on_start(self, run: viva.RunHeader) -> None:
            raise ValueError("at the start")

        async def on_end(self, *_: object) -> None:
            raise ValueError("at the end")

        async def write(self, *_: object) -> None:
            raise ValueError("no disk")

    broken, kept = Broken(), Kept()
    with caplog.at_level(logging.WARNING, logger="viva"):
        result = viva.run_suite(
            write_case(), Parrot, trials=3, sandbox="process", sinks=broken, subscribers=[broken, kept]
        )
    assert result.figures.suite.mean == 1.0
    assert kept.told.count("end 1.0") == 3
    line = r"\S*test_suites\.py:\d+"
    assert len(re.findall(rf"the subscriber Broken failed: {line}: ValueError: at the start", caplog.text)) == 1
    assert re.search(rf"the sink Broken failed: {line}: ValueError: no disk", caplog.text)


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), asyncio.CancelledError()])
@pytest.mark.parametrize("plain", [True, False])
def test_a_subscriber_or_sink_that_leaves_stops_nothing_either(
    write_case: CaseMaker, caplog: pytest.LogCaptureFixture, error: BaseException, plain: bool
) -> None:
    def leave(*_: object) -> None:
        raise error

    async def leave_later(*_: object) -> None:
        raise error

    method = leave if plain else leave_later
    broken = SimpleNamespace(on_start=method, on_round=method, on_end=method, on_closed=method)
    sink, kept = SimpleNamespace(write=method, close=method), Kept()
    with caplog.at_level(logging.WARNING, logger="viva"):
        result = viva.run_suite(
            write_case(), Parrot, trials=2, sandbox="process", sinks=sink, subscribers=[broken, kept]
        )
    assert (result.figures.suite.mean, result.ended) == (1.0, 2)
    assert kept.told.count("end 1.0") == 2
    assert caplog.text.count("the subscriber SimpleNamespace failed") == 1
    assert "the sink SimpleNamespace failed" in caplog.text


def test_the_header_of_a_runs_end_is_that_of_its_start(write_case: CaseMaker) -> None:
    told: list[viva.RunHeader] = []

    class Headers:
        def on_start(self, run: viva.RunHeader) -> None:
            told.append(run)

        def on_end(self, run: viva.RunHeader, record: viva.RunRecord, transcript: viva.Transcript) -> None:
            told.append(run)

    viva.run_suite(write_case(), "example:careful", sandbox="process", subscribers=Headers())
    start, end = told
    assert start == end
    assert end.max_rounds is not None


@pytest.mark.parametrize("thing", [object(), Kept, "jsonl", 3])
def test_what_is_no_subscriber_or_sink_is_refused(write_case: CaseMaker, thing: object) -> None:
    with pytest.raises(viva.SetupError, match="is not a subscriber"):
        viva.run_suite(write_case(), Parrot, subscribers=[thing], out="out")
    if thing != "jsonl":
        with pytest.raises(viva.SetupError, match=r"is not a sink|sinks must be a text or a Sink"):
            viva.run_suite(write_case(), Parrot, sinks=[thing], out="out")  # type: ignore[list-item]
    assert not Path("out").exists()


def test_a_call_made_again_holds_what_is_missing(write_case: CaseMaker) -> None:
    write_case("one"), write_case("two")

    def call(**more: object) -> viva.SuiteResult:
        return viva.run_suite(
            ["one", "two"], {"a": Parrot}, evaluators=["scoring_points", Length()], sandbox="process", out="out", **more
        )

    first = call(resume=True, max_tokens=1)
    assert first.ended == 2
    lines = Path("out/journal.jsonl").read_text().splitlines(keepends=True)
    (ends,) = [[number for number, line in enumerate(lines) if '"event":"run"' in line[:40]]]
    Path("out/journal.jsonl").write_text("".join(lines[: ends[0] + 1]))
    again = call(resume=True, concurrency=1)
    assert (again.ended, again.figures.suite.runs) == (1, 2)
    assert call(resume=True).ended == 0
    with pytest.raises(viva.SetupError, match="resume=True"):
        call()


def test_a_suite_that_was_cancelled_goes_on(write_case: CaseMaker) -> None:
    class Slow(Parrot):
        async def get_reply_from_agent(self, message: str) -> str:  # type: ignore[override]
            await asyncio.sleep(60 if hangs else 0)
            return message

    case, hangs = write_case(), True
    result = viva.run_suite(case, Slow, trials=3, sandbox="process", out="out", max_seconds=0.2)
    assert (result.ended, result.left_out) == (0, 3)
    assert "--max-time" in (result.reason or "")
    hangs = False
    result = viva.run_suite(case, Slow, trials=3, sandbox="process", out="out", resume=True)
    assert (result.ended, result.figures.suite.mean) == (3, 1.0)


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"trials": 3}, "trials"),
        ({"max_rounds": 1}, "options"),
        ({"evaluators": Length}, "options"),
        ({"tags": ["x"]}, "tags"),
    ],
)
def test_another_suite_does_not_go_on_with_a_folder(write_case: CaseMaker, more: dict[str, object], part: str) -> None:
    case = write_case()
    viva.run_suite(case, Parrot, sandbox="process", out="out")
    with pytest.raises(viva.SetupError, match=f"it differs in {part}"):
        viva.run_suite(case, Parrot, sandbox="process", out="out", resume=True, **more)  # type: ignore[arg-type]
    with pytest.raises(viva.SetupError, match="it differs in agents"):
        viva.run_suite(case, {"other": Parrot}, sandbox="process", out="out", resume=True)


def test_a_changed_case_is_not_mixed_with_what_was_begun(write_case: CaseMaker) -> None:
    case = dataclasses.replace(viva.load_case(write_case()), max_rounds=1)
    viva.run_suite(case, Parrot, sandbox="process", out="out")
    other = dataclasses.replace(case, max_rounds=2)
    with pytest.raises(viva.SetupError, match="were changed or removed since the suite started"):
        viva.run_suite(other, Parrot, sandbox="process", out="out", resume=True)
    assert viva.run_suite(case, Parrot, sandbox="process", out="out", resume=True).ended == 0


def test_agents_and_evaluators_of_one_name_are_refused(write_case: CaseMaker) -> None:
    case = write_case()
    with pytest.raises(viva.SetupError, match="two agents are called"):
        viva.run_suite(case, [Parrot, Parrot])
    with pytest.raises(viva.SetupError, match=r"and 'length\(letters=2\)' are both called 'length'"):
        viva.run_suite(case, Parrot, evaluators=[Length(1), Length(2)])
    with pytest.raises(viva.SetupError, match="both called 'length'"):
        viva.run_suite(case, Parrot, evaluators=[Length(1), Length])
    with pytest.raises(viva.SetupError, match="there is no agent"):
        viva.run_suite(case, [])
    with pytest.raises(viva.SetupError, match="there is no case to examine"):
        viva.run_suite([], Parrot)


@pytest.mark.parametrize("limits", [{"trials": 0}, {"max_cost": 0}, {"max_tokens": 1.5}, {"max_seconds": "1"}])
def test_limits_are_checked(write_case: CaseMaker, limits: dict[str, object]) -> None:
    with pytest.raises(viva.SetupError, match=next(iter(limits))):
        viva.run_suite(write_case(), Parrot, **limits)  # type: ignore[arg-type]


def test_objects_cannot_be_sent_to_a_cluster(write_case: CaseMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.suites.on_ray.engine.require_ray", lambda: None)
    write_case("one")
    with pytest.raises(viva.SetupError, match=r"Parrot.*cannot be sent.*import string"):
        viva.run_suite("one", Parrot, engine="ray", out="j")
    with pytest.raises(viva.SetupError, match=r"Length.*cannot be sent"):
        viva.run_suite("one", "example:careful", evaluators=Length, engine="ray", out="j")
    with pytest.raises(viva.SetupError, match="local or ray, not 'spark'"):
        viva.run_suite("one", Parrot, engine="spark", out="j")
    with pytest.raises(viva.SetupError, match="require --engine ray"):
        viva.run_suite("one", Parrot, ray_workers=2, out="j")
    assert not Path("j").exists()
