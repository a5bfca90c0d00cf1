"""The evaluators of a suite of prompts: those of the options, and the success of each case, which they see."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.judge.loaded_evaluator import name_of
from viva.judge.operational.evaluator import OperationalEvaluator
from viva.judge.registry import read_spec
from viva.judge.success import SUCCEEDED, SUCCESS, SuccessEvaluator
from viva.observe.options import DEFAULT_EVALUATOR, EvalOptions
from viva.observe.session_agent import SessionAgent
from viva.records.evaluator import Context
from viva.records.history import EvalHistorySource
from viva.records.transcript import Transcript
from viva.records.verdict import Insight

NOBODY_SAYS = "unknown"


def suite_evaluators(
    options: EvalOptions, cases: Mapping[str, Any], agent: type[SessionAgent], history: EvalHistorySource | None
) -> tuple[tuple[str, ...], dict[str, object]]:
    """Return the names of a suite's evaluators, the primary first, and those that are objects by their name.

    `history` holds the earlier runs that the operational evaluator compares with; None is the suite's own journal.

    Raises:
        SetupError: one has no name, or two have the same.
    """
    names, given = options.named_evaluators()
    success = CaseSuccess(cases, agent.successes)
    given = dict(given)
    for name in names:
        if name in given:
            continue
        part, parameters = read_spec(name)
        if part == DEFAULT_EVALUATOR and part not in given:
            given[name] = _KnowsSuccess(OperationalEvaluator(history, **parameters), success)
    if SUCCESS not in {*names, *map(name_of, given.values())}:
        names, given[SUCCESS] = (*names, SUCCESS), success
    return names, given


class CaseSuccess:
    """Says whether a case succeeded: its own predicate, else what its session said."""

    name = SUCCESS
    needs = ()

    def __init__(self, cases: Mapping[str, Any], said: Mapping[str, bool | None]) -> None:
        """Args:
        cases: By name.
        said: Maps each case to the success that its session stated.
        """
        self._cases, self._said = cases, said
        self._asked: dict[str, asyncio.Future[Insight]] = {}

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Ask, once for each run."""
        if context.subject not in self._asked:
            self._asked[context.subject] = asyncio.ensure_future(self._ask(transcript, context))
        return await self._asked[context.subject]

    async def _ask(self, transcript: Transcript, context: Context) -> Insight:
        case = self._cases[context.task]
        if case.success is not None:
            return await SuccessEvaluator(case.success).evaluate(transcript, context)
        said = self._said.get(context.task)
        if said is None:
            return Insight(
                self.name, context.subject, NOBODY_SAYS, None, summary="it is not known whether it succeeded"
            )
        return await SuccessEvaluator(lambda _: said).evaluate(transcript, context)


class _KnowsSuccess:
    """Lets an evaluator judge with the success known."""

    needs = ()

    def __init__(self, evaluator: OperationalEvaluator, success: CaseSuccess) -> None:
        self.name = evaluator.name
        self._evaluator, self._success = evaluator, success

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        if transcript.success is None:
            said = await self._success.evaluate(transcript, context)
            if said.score is not None:
                transcript = replace(transcript, success=said.label == SUCCEEDED)
        return await self._evaluator.evaluate(transcript, context)
