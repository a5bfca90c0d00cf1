"""What the ending of a check says about the agent, and what is done about sessions that die, hang or are broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from viva.cases import Case, ScoringPoint
from viva.judge.scoring_points.by_code import PROBE, CodeJudge, read_result
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Verdict
from viva.sandbox import (
    CheckResult,
    DependencyError,
    Ending,
    RunView,
    SandboxError,
    SandboxLimits,
    SandboxLost,
    WorkspaceTooLarge,
)

POINT = ScoringPoint("p1", "It works.", 2.0, "assert check()")
CASE = Case("case", Path("case.yaml"), "0" * 64, "Write solution.py, please.", (POINT,))


def result(ending: Ending, **fields: Any) -> CheckResult:
    return CheckResult(ending, **fields)


MODULE = {"exception": "ModuleNotFoundError"}

TABLE = [
    (result(Ending.PASSED), "hit", None),
    (result(Ending.FAILED, exception="AssertionError", message="5 != 6"), "miss", None),
    (result(Ending.FAILED, exception="FileNotFoundError"), "miss", None),
    (result(Ending.FAILED, exception="JSONDecodeError"), "miss", None),
    (result(Ending.FAILED, exception="NameError", message="raised in the agent's own file"), "miss", None),
    (result(Ending.TIMEOUT, message="30 s"), "miss", None),
    (result(Ending.LIMIT, message="memory"), "miss", None),
    (result(Ending.BROKEN, exception="SyntaxError"), "error", "judge"),
    (result(Ending.BROKEN, exception="NameError"), "error", "judge"),
    (result(Ending.BROKEN, exception="SystemExit"), "error", "judge"),
    # A module that the case asks the agent to write is the agent's to deliver; a library is the case's.
    (result(Ending.BROKEN, missing_module="solution", **MODULE), "miss", None),
    (result(Ending.BROKEN, missing_module="solution.inner", **MODULE), "miss", None),
    (result(Ending.BROKEN, missing_module="pandas", **MODULE), "error", "judge"),
    (result(Ending.BROKEN, missing_module="sol", **MODULE), "error", "judge"),
    (result(Ending.BROKEN, missing_module="lution", **MODULE), "error", "judge"),
]


def test_every_ending_is_in_the_table() -> None:
    assert {row[0].ending for row in TABLE} == set(Ending)


@pytest.mark.parametrize(("ending", "label", "fault"), TABLE, ids=lambda value: repr(value)[:70])
def test_what_an_ending_says_about_the_agent(ending: CheckResult, label: str, fault: str | None) -> None:
    verdict = read_result(ending, POINT, CASE, "run")
    assert (verdict.label, verdict.fault) == (label, fault)
    assert verdict.score == {"hit": 1.0, "miss": 0.0, "error": None}[label]
    assert (verdict.subject, verdict.criterion, verdict.weight, verdict.by) == ("run", "p1", 2.0, "code")
    assert verdict.reason


def test_the_file_may_be_named_in_the_point_the_check_or_the_script() -> None:
    missing = result(Ending.BROKEN, missing_module="report", **MODULE)
    silent = replace(CASE, task_description="Do it.")
    assert read_result(missing, POINT, silent, "run").label == "error"
    for point in (replace(POINT, score_point="There is a report.py."), replace(POINT, eval_code="# report.py")):
        assert read_result(missing, point, silent, "run").label == "miss"


def test_a_reason_names_exception_words_and_line_and_stays_short() -> None:
    verdict = read_result(
        result(Ending.FAILED, exception="AssertionError", message="x" * 9000, line=3), POINT, CASE, "r"
    )
    assert verdict.reason.startswith("AssertionError: xxx")
    assert verdict.reason.endswith("(line 3 of the check)")
    assert len(verdict.reason) < 1200


def test_a_check_that_imports_the_agents_code_is_flagged() -> None:
    passed = result(Ending.PASSED, imported=("solution",))
    assert read_result(passed, POINT, CASE, "r").flags == ("imports-workspace",)


def test_an_empty_workspace_in_place_of_the_agents_is_flagged() -> None:
    missing = result(Ending.FAILED, exception="FileNotFoundError", workspace_fault="the agent's workspace is a link")
    verdict = read_result(missing, POINT, CASE, "r")
    assert (verdict.label, verdict.flags) == ("miss", ("workspace-unreadable",))
    assert "is a link" in verdict.reason


# Sessions


class FakeSession:
    """Plays the results it is given, one for each check."""

    def __init__(self, owner: FakeSandbox) -> None:
        self.owner = owner

    async def check(self, code: str, limits: SandboxLimits | None = None) -> CheckResult:
        self.owner.checks.append(code)
        play = self.owner.probe if code == PROBE else self.owner.plays.pop(0)
        if isinstance(play, Exception):
            raise play
        return play

    async def close(self) -> None:
        self.owner.closed += 1


class FakeSandbox:
    """Stands in where a session has to die or hang on command, which a sound sandbox does not."""

    name = "fake"
    isolates = False
    weaknesses = ()

    def __init__(self, *plays: CheckResult | Exception, probe: CheckResult | Exception | None = None) -> None:
        self.plays = list(plays)
        self.probe = probe or result(Ending.PASSED)
        self.checks: list[str] = []
        self.opened = self.closed = 0
        self.workspaces: list[Path | None] = []
        self.open_error: Exception | None = None

    async def provide(self, dependencies: Sequence[str]) -> None: ...

    async def prepare(self, dependencies: Sequence[str] = ()) -> None: ...

    async def open(
        self, workspace: Path | None, view: RunView, *, dependencies: Sequence[str] = (), run_id: str = ""
    ) -> FakeSession:
        if self.open_error:
            raise self.open_error
        self.opened += 1
        self.workspaces.append(workspace)
        return FakeSession(self)

    async def close(self) -> None: ...


async def judged(sandbox: FakeSandbox) -> Verdict:
    judge = CodeJudge(sandbox, CASE, "run", Transcript((Round(1, "q", "a"),)), WORKSPACE)
    verdict = await judge.judge(POINT)
    await judge.close()
    assert sandbox.opened == sandbox.closed, "a session was left open"
    return verdict


CODE = "assert check()"
WORKSPACE = Path("workspace")
TIMEOUT, LIMIT, PASSED, FAILED = (result(e) for e in (Ending.TIMEOUT, Ending.LIMIT, Ending.PASSED, Ending.FAILED))


@pytest.mark.parametrize("broken", [TIMEOUT, LIMIT])
async def test_a_limit_that_breaks_twice_beside_a_sound_probe_is_a_flagged_miss(broken: CheckResult) -> None:
    sandbox = FakeSandbox(broken, broken)
    verdict = await judged(sandbox)
    assert (verdict.label, verdict.flags) == ("miss", ("limit-repeated",))
    assert sandbox.checks == [CODE, PROBE, CODE]
    assert sandbox.opened == 2


@pytest.mark.parametrize(("second", "label"), [(PASSED, "hit"), (FAILED, "miss")])
async def test_a_limit_that_breaks_once_leaves_the_word_to_the_second_try(second: CheckResult, label: str) -> None:
    verdict = await judged(FakeSandbox(TIMEOUT, second))
    assert (verdict.label, verdict.flags) == (label, ("limit-once",))


@pytest.mark.parametrize("probe", [TIMEOUT, LIMIT, FAILED, SandboxLost("gone")])
async def test_where_the_probe_fails_too_the_session_is_at_fault(probe: Any) -> None:
    verdict = await judged(FakeSandbox(TIMEOUT, probe=probe))
    assert (verdict.label, verdict.fault) == ("error", "infra")


async def test_a_lost_session_is_replaced_once() -> None:
    sandbox = FakeSandbox(SandboxLost("gone"), PASSED)
    verdict = await judged(sandbox)
    assert (verdict.label, verdict.flags, sandbox.opened) == ("hit", ("sandbox-replaced",), 2)


async def test_a_second_loss_beside_a_sound_probe_is_a_flagged_miss() -> None:
    sandbox = FakeSandbox(SandboxLost("gone"), SandboxLost("gone again"))
    verdict = await judged(sandbox)
    assert (verdict.label, verdict.fault, verdict.flags) == ("miss", None, ("session-ended",))
    assert sandbox.checks == [CODE, CODE, PROBE]
    assert sandbox.workspaces == [WORKSPACE, WORKSPACE, None], "the probe sees nothing of the agent's"
    assert "gone again" in verdict.reason


async def test_a_loss_after_a_broken_limit_is_a_flagged_miss_too() -> None:
    verdict = await judged(FakeSandbox(TIMEOUT, SandboxLost("gone")))
    assert (verdict.label, verdict.flags) == ("miss", ("session-ended",))


@pytest.mark.parametrize("probe", [TIMEOUT, FAILED, SandboxLost("gone")])
async def test_a_second_loss_is_nobodys_miss_where_the_probe_fails_too(probe: Any) -> None:
    verdict = await judged(FakeSandbox(SandboxLost("gone"), SandboxLost("gone again"), probe=probe))
    assert (verdict.label, verdict.fault) == ("error", "infra")


async def test_a_time_out_in_a_replaced_session_gets_its_second_try_too() -> None:
    verdict = await judged(FakeSandbox(SandboxLost("gone"), TIMEOUT, PASSED))
    assert (verdict.label, verdict.flags) == ("hit", ("sandbox-replaced", "limit-once"))


@pytest.mark.parametrize(
    ("error", "label", "fault"),
    [
        (WorkspaceTooLarge("300 MB"), "miss", None),
        # They could be had before the exam, else there had been none.
        (DependencyError("packaging==24", "no network"), "error", "infra"),
        (SandboxError("no daemon"), "error", "infra"),
    ],
)
async def test_a_session_that_cannot_be_opened_is_blamed_on_whose_fault_it_is(
    error: Exception, label: str, fault: str | None
) -> None:
    sandbox = FakeSandbox()
    sandbox.open_error = error
    verdict = await judged(sandbox)
    assert (verdict.label, verdict.fault) == (label, fault)
    assert str(error) in verdict.reason
