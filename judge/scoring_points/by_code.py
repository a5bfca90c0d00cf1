"""Judges scoring points by their `eval_code` in a sandbox, and decides what caused a failed check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from viva.cases import Case, CheckLimits, ScoringPoint
from viva.cases.check_code.effect import cannot_fail
from viva.cases.check_code.imports import is_named
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.view import run_view
from viva.records.fault import Fault
from viva.records.transcript import Transcript
from viva.records.verdict import Label, Verdict
from viva.sandbox import (
    CheckResult,
    Ending,
    Isolation,
    RunView,
    Sandbox,
    SandboxError,
    SandboxLost,
    SandboxSession,
    WorkspaceTooLarge,
)
from viva.sandbox.limits import limits_for

# Passes in any session that works: if it fails, the session is at fault, not what the agent left.
PROBE = "assert chat_history is not None and rounds is not None"
MESSAGE_SHOWN = 1000


class CodeJudge:
    """Runs the checks of one run, in one session as long as that lives."""

    def __init__(
        self,
        sandbox: Sandbox,
        case: Case,
        subject: str,
        transcript: Transcript,
        workspace: Path | None,
        asked_limits: CheckLimits | None = None,
        checks: int | None = None,
    ) -> None:
        """Open nothing yet. `asked_limits` come from the user, and take precedence over those of the case.

        `checks` is how many there will be.
        """
        self._left = checks
        self._sandbox = sandbox
        self._case = case
        self._subject = subject
        self._view = run_view(transcript, case.task_description)
        self._workspace = workspace
        self._limits = limits_for(case.check_limits, asked_limits)
        self._session: SandboxSession | None = None
        self._isolation: list[dict[str, str]] = []

    @property
    def isolation(self) -> tuple[Mapping[str, str], ...]:
        """What separated the checks so far from the host and from other runs, without repetition."""
        return tuple(self._isolation)

    async def judge(self, point: ScoringPoint) -> Verdict:
        """Return the verdict of a point with `eval_code`; a failure of the sandbox is an `error`, not an exception."""
        assert point.eval_code is not None
        try:
            result, flags = await self._check(point.eval_code)
        except WorkspaceTooLarge as error:
            # The agent caused it: no agent can be excluded from the averages by leaving too much.
            return point_verdict(self._subject, point, Label.MISS, str(error), flags=("workspace-too-large",))
        except SandboxError as error:
            reason = f"the sandbox failed: {error}"
            return point_verdict(self._subject, point, Label.ERROR, reason, fault=Fault.INFRA)
        if self._left is not None:
            self._left -= 1
        cut = next((round_.get("cut") for round_ in self._view.rounds), None)
        if cut is not None:
            flags = (*flags, "conversation-cut")
        verdict = read_result(result, point, self._case, self._subject, flags)
        if cut != "words" or verdict.label == Label.ERROR:
            return verdict
        # The part that was left out may contain what the check looked for, or what it should not find.
        reason = f"{verdict.reason}; but it saw only part of what was said, which is too long for a sandbox"
        return replace(verdict, label=Label.UNSURE, score=None, reason=reason)

    async def close(self) -> None:
        """Return the session to the pool."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _check(self, code: str) -> tuple[CheckResult, tuple[str, ...]]:
        flags: tuple[str, ...] = ()
        try:
            result = await (await self._open()).check(code, self._limits)
        except SandboxLost:
            # Replaced once; if the session is lost again, a probe decides what caused it.
            await self.close()
            flags = ("sandbox-replaced",)
            try:
                result = await (await self._open()).check(code, self._limits)
            except SandboxLost as lost:
                return await self._without_files(str(lost)), ("session-ended",)
        if result.ending not in (Ending.TIMEOUT, Ending.LIMIT):
            return result, flags
        result, more = await self._again(code, result)
        return result, (*flags, *more)

    async def _again(self, code: str, first: CheckResult) -> tuple[CheckResult, tuple[str, ...]]:
        """Repeat a check that exceeded a limit in a fresh session, together with a probe that the session works."""
        await self.close()
        try:
            session = await self._open()
            probe = await session.check(PROBE, self._limits)
            if probe.ending is not Ending.PASSED:
                # A large workspace can exceed a small limit by itself.
                why = f"a check ended as {first.ending.value}, and so did one that cannot: {probe.message}"
                return await self._without_files(why), ("session-ended",)
            result = await session.check(code, self._limits)
        except SandboxLost as lost:
            return await self._without_files(str(lost)), ("session-ended",)
        return result, ("limit-repeated",) if result.ending in (Ending.TIMEOUT, Ending.LIMIT) else ("limit-once",)

    async def _without_files(self, why: str) -> CheckResult:
        """Return the result of a check whose session failed, if a probe without the agent's files passes.

        Then what the agent left ended the session: no agent can be excluded from the averages by breaking the sandbox.
        """
        await self.close()
        session = await self._sandbox.open(None, RunView(), dependencies=self._case.dependencies, run_id=self._subject)
        self._note(session)
        try:
            probe = await session.check(PROBE, self._limits)
        finally:
            await session.close()
        if probe.ending is not Ending.PASSED:
            raise SandboxError(f"{why}; a probe failed too: {probe.message}")
        return CheckResult(Ending.LIMIT, message=f"what the agent left ended its sandbox, and a probe passed: {why}")

    async def _open(self) -> SandboxSession:
        if self._session is None:
            self._session = await self._sandbox.open(
                self._workspace, self._view, dependencies=self._case.dependencies, run_id=self._subject
            )
            self._note(self._session)
            if self._left is not None and hasattr(self._session, "expect"):
                self._session.expect(self._left)
        return self._session

    def _note(self, session: SandboxSession) -> None:
        isolation: Isolation | None = getattr(session, "isolation", None)
        words = {name: text for name, text in asdict(isolation).items() if text} if isolation is not None else {}
        if words and words not in self._isolation:
            self._isolation.append(words)


def read_result(
    result: CheckResult, point: ScoringPoint, case: Case, subject: str, flags: tuple[str, ...] = ()
) -> Verdict:
    """Return the verdict that follows from the result of a check.

    A check that passed is a hit. An exception about what the agent left, or a limit that was exceeded twice, is a miss.
    A check that is broken itself is an error, which says nothing about the agent; a module that the case asks the agent
    to write is missed by the agent.
    """
    if result.imported:
        flags = (*flags, "imports-workspace")
    if result.workspace_fault:
        flags = (*flags, "workspace-unreadable")
    label, reason, fault = Label.MISS, _reason(result), None
    if result.ending is Ending.PASSED:
        label, reason = Label.HIT, "the check passed"
        if cannot_fail(point.eval_code or ""):
            flags, reason = (*flags, "cannot-fail"), "the check passed, as it does whatever the agent does"
    elif result.ending is Ending.BROKEN and not (
        result.missing_module and is_named(case, result.missing_module.partition(".")[0], point)
    ):
        label, fault = Label.ERROR, Fault.JUDGE
        reason = f"the check itself is broken: {reason}"
    return point_verdict(subject, point, label, reason, flags=flags, fault=fault, seconds=result.seconds)


def _reason(result: CheckResult) -> str:
    message = result.message if len(result.message) <= MESSAGE_SHOWN else result.message[:MESSAGE_SHOWN] + "…"
    where = f" (line {result.line} of the check)" if result.line else ""
    name = result.exception or result.ending.value
    words = f"{name}: {message}{where}" if message else f"{name}{where}"
    return f"{words}; {result.workspace_fault}" if result.workspace_fault else words
