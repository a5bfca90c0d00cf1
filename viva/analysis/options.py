"""`EvalAgentOptions`: who analyzes, what it is asked, and what it runs on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError
from viva.models.prompts import render
from viva.records.text import one_line

PROMPTS = Path(__file__).parent / "prompts"
CONTEXT_TOKENS = 32_000


def default_persona() -> str:
    """Return the default persona."""
    return render(PROMPTS / "persona.md")


def default_instruction() -> str:
    """Return the default instruction."""
    return render(PROMPTS / "instruction.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAnalysisRequest:
    """The analyst's input; a runner passes it to the model."""

    persona: str
    """Its system message."""
    prompt: str
    """Instruction, figures, runs, and the form of the answer; also what was wrong with the answer before, if any."""
    model: str | None
    """The model, as in `EvalAgentOptions.model`."""
    seconds: float
    """Longest wait for the answer."""


EvalAnalysisRunner = Callable[[EvalAnalysisRequest], Awaitable[str]]
"""Answers a request with text: a model, a session of an SDK, another provider, a stub in a test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAgentOptions:
    """How runs are analyzed."""

    persona: str | None = None
    """The analyst's system message; None means Viva's own."""
    instruction: str | None = None
    """What it is asked to find out; None means Viva's own. The form of the answer stays the same."""
    model: str | None = None
    """`openai:NAME` or a file with an AutoGen component, for the default runner; other runners may interpret it
    differently."""
    prices: tuple[str, ...] = ()
    """Prices of models, as `--price` takes them, for the default runner."""
    max_output_tokens: tuple[str, ...] = ()
    """Maximum number of tokens of an answer, as `--max-output-tokens` takes it, for the default runner."""
    model_seconds: tuple[str, ...] = ()
    """Maximum time of each attempt at an answer, as `--model-seconds` takes it, for the default runner."""
    runner: EvalAnalysisRunner | None = None
    """None means the model."""
    context_tokens: int = CONTEXT_TOKENS
    """Size of the request: as many runs are shown as fit. It is halved if the model rejects it as too long."""
    answers: int = 3
    """Maximum number of attempts to get an answer in the requested form."""
    seconds: float = 300.0
    """Longest wait for one answer."""
    most: int = 10
    """Maximum number of weaknesses, and of improvements."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            SetupError: one cannot be used.
        """
        for name in ("context_tokens", "answers", "most", "seconds"):
            value, kinds = getattr(self, name), (int, float) if name == "seconds" else (int,)
            if not isinstance(value, kinds) or isinstance(value, bool):
                words = "a number" if name == "seconds" else "a whole number"
                raise SetupError(f"viva.EvalAgentOptions(): {name} must be {words}, not {one_line(repr(value), 80)}.")
        if self.context_tokens < 2_000:
            raise SetupError("an analysis requires a context of at least 2,000 tokens (context_tokens).")
        if self.answers < 1 or self.most < 1 or not self.seconds > 0:
            raise SetupError("an analysis requires answers and most of at least 1, and seconds above 0.")
