"""`EvalAgent`: an observe-only analyst over the records of runs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.adapters.calls import describe
from viva.analysis.digest import Digest, Sampled, make_digest
from viva.analysis.findings import AnalystAnswer, EvalAnalysis, UnusableAnswer, check_claims, read_answer
from viva.analysis.options import (
    PROMPTS,
    EvalAgentOptions,
    EvalAnalysisRequest,
    EvalAnalysisRunner,
    default_instruction,
    default_persona,
)
from viva.analysis.runners import Configure, ModelRunner, open_model, session_runner, usage_of
from viva.analysis.sources import Material, Runs, gather
from viva.errors import ModelError, SetupError
from viva.models.prompts import digest as prompt_digest
from viva.models.prompts import render
from viva.models.retry import is_for_content
from viva.records.text import storable

_TOO_LONG = re.compile(r"context|too (?:long|large|many tokens)|maximum.{0,40}(?:tokens|length)|413", re.IGNORECASE)
"""Matches the errors by which providers reject a request as too long."""
SMALLEST_CONTEXT = 4_000
"""Minimum size of a request in tokens; it is not shortened further."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """How much of the runs a request holds."""

    tokens: int
    conversations: bool = True

    def smaller(self, error: Exception) -> _Scope | None:
        """Return what to show after a request failed; None if it did not fail for what it held, or holds too little."""
        if self.conversations and is_for_content(error) and not _TOO_LONG.search(str(error)):
            return replace(self, conversations=False)
        if self.tokens < SMALLEST_CONTEXT or not (is_for_content(error) or _TOO_LONG.search(str(error))):
            return None
        return replace(self, tokens=self.tokens // 2)

    def of(self, sample: Sequence[Sampled]) -> Sequence[Sampled]:
        """Return a sample of runs as far as it is shown."""
        return sample if self.conversations else [replace(each, transcript=None) for each in sample]


class EvalAgent:
    """Analyzes runs and recommends improvements; it edits nothing, and has no tools.

    An answer that is not in the form asked for is asked for again; a claim that cites runs which do not exist is
    dropped and reported.
    """

    def __init__(self, options: EvalAgentOptions | None = None) -> None:
        """Args:
        options: Persona, instruction, model, runner and limits.
        """
        self.options = options or EvalAgentOptions()

    @classmethod
    def from_client(
        cls, client: Any, configure: Configure | None = None, options: EvalAgentOptions | None = None
    ) -> EvalAgent:
        """Make an agent that runs in sessions of a client of the Copilot SDK.

        Args:
            client: The client, started or not.
            configure: Changes the arguments with which each session is created.
            options: Persona, instruction, model and limits.

        Raises:
            SetupError: the object is not such a client.
        """
        return cls(replace(options or EvalAgentOptions(), runner=session_runner(client, configure)))

    async def analyze(self, runs: Runs) -> EvalAnalysis:
        """Analyze runs.

        Args:
            runs: Records with or without transcripts, or where they are read: journals by their references
                (`history_of`), or any history.

        Raises:
            SetupError: there is no run or no model, or something else must be changed first.
            ModelError: the provider failed, or none of its answers could be used.
            JournalError: a journal cannot be read.
        """
        # As many as can possibly fit: a run takes more than this.
        material = await gather(runs, self.options.context_tokens // 50)
        if not material.places:
            raise SetupError("there is no finished run to analyze.")
        runner, close = await self._runner()
        try:
            answer, shown, scope = await self._ask(runner, material)
        finally:
            await close()
        weaknesses, improvements, dropped = check_claims(
            answer, material.places, self.options.most, flawless=material.flawless, said=shown.said
        )
        return EvalAnalysis(
            summary=storable(answer.summary),
            weaknesses=weaknesses,
            improvements=improvements,
            dropped=dropped,
            runs=len(material.places),
            shown=len(shown.shown),
            conversations=scope.conversations,
            by=self.options.model or str(getattr(runner, "__name__", type(runner).__name__)),
            usage=usage_of(runner),
            prompts={name: prompt_digest(PROMPTS / f"{name}.md") for name in self._prompts()},
        )

    async def _runner(self) -> tuple[EvalAnalysisRunner, Callable[[], Awaitable[None]]]:
        async def nothing() -> None:
            pass

        if self.options.runner is not None:
            return self.options.runner, nothing
        model, close = await open_model(self.options)
        return ModelRunner(model), close

    async def _ask(self, runner: EvalAnalysisRunner, material: Material) -> tuple[AnalystAnswer, Digest, _Scope]:
        """Ask until an answer is usable, with as much data as the model and its provider accept."""
        with_words = any(each.transcript is not None for each in material.sample)
        scope, fault, unusable = _Scope(self.options.context_tokens, with_words), "", 0
        while True:
            shown = make_digest(material.figures, material.trends, scope.of(material.sample), scope.tokens)
            try:
                text = await runner(self._request(shown, len(material.places), fault))
                return read_answer(text, shown.mark, shown.said), shown, scope
            except UnusableAnswer as error:
                fault, unusable = str(error), unusable + 1
                if unusable >= self.options.answers:
                    raise ModelError(f"no answer of the analyst could be used: {fault}.") from error
                if is_for_content(error):
                    scope = scope.smaller(error) or scope
            except SetupError:
                raise
            except Exception as error:
                # A runner of the user's own, or a session of the SDK's, has exceptions of its own.
                smaller = scope.smaller(error)
                if smaller is not None:
                    scope = smaller
                elif isinstance(error, ModelError):
                    raise
                else:
                    raise ModelError(f"the analyst failed: {describe(error)}") from error

    def _prompts(self) -> list[str]:
        own = {"persona": self.options.persona is None, "instruction": self.options.instruction is None}
        return ["request", *(name for name, is_own in own.items() if is_own)]

    def _request(self, shown: Digest, total: int, fault: str) -> EvalAnalysisRequest:
        options = self.options
        prompt = render(
            PROMPTS / "request.md",
            instruction=(options.instruction or default_instruction()).strip(),
            shown=len(shown.shown),
            total=total,
            marker=shown.marker,
            figures=shown.figures,
            runs=shown.runs,
            most=options.most,
            mark=shown.mark,
        )
        if fault:
            prompt += f"\n\nYour last answer could not be used: {fault}. Answer again, in full, in the form asked for."
        return EvalAnalysisRequest(
            persona=options.persona or default_persona(), prompt=prompt, model=options.model, seconds=options.seconds
        )
