"""Measures harness time per round: conversations with partners that answer at once, every round in the journal."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from bench.stubs import TEXT, AsyncAgent, InstantModel, SyncAgent
from bench.table import Figure
from viva.adapters.session import AgentArguments, open_session
from viva.cases import ScriptLine
from viva.examiner import ConversationLimits, ScriptedExaminer, converse
from viva.examiner.model import ModelExaminer
from viva.journal.writer import Journal
from viva.models.autogen.client import AutoGenModel
from viva.models.client import ModelClient
from viva.models.retry import RetryPolicy
from viva.records.transcript import Round

REPEATS = 5


async def _conversations(agent: type, rounds: int, number: int, journal: Journal, model: ModelClient | None) -> None:
    script = (ScriptLine(f"{{n}} {TEXT[:110]}", 1, rounds),)
    for index in range(number):
        run = f"run-{index}"
        session = await open_session(agent, AgentArguments("task"), 60.0)
        examiner = ModelExaminer(model, "task") if model else ScriptedExaminer(script)

        async def keep(round_: Round, run: str = run) -> None:
            journal.append("round", run, 1, round_)

        transcript = await converse(examiner, session, ConversationLimits(max_rounds=rounds), keep)
        assert len(transcript.rounds) == rounds
        await session.close()


def _per_round(agent: type, rounds: int, number: int, *, model: bool = False) -> float:
    """Return the microseconds per round, as the median of several passes."""
    passes = []
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder)) as journal:
        client = ModelClient(AutoGenModel(InstantModel(), "instant"), RetryPolicy()) if model else None
        asyncio.run(_conversations(agent, rounds, 3, journal, client))
        for _ in range(REPEATS):
            began = time.perf_counter()
            asyncio.run(_conversations(agent, rounds, number, journal, client))
            passes.append((time.perf_counter() - began) / number / rounds * 1e6)
    return statistics.median(passes)


def figures() -> list[Figure]:
    """Measure the time per round for each kind of examiner and agent."""
    scripted = _per_round(AsyncAgent, 10, 100)
    scripted_50 = _per_round(AsyncAgent, 50, 30)
    threaded = _per_round(SyncAgent, 50, 20)
    modelled = _per_round(AsyncAgent, 10, 50, model=True)
    modelled_50 = _per_round(AsyncAgent, 50, 15, model=True)
    return [
        Figure("scripted examiner, async agent, 10 rounds", scripted, "us", 60),
        Figure("scripted examiner, async agent, 50 rounds", scripted_50, "us", 60),
        Figure("  overhead of a synchronous agent's thread", threaded - scripted_50, "us", 120),
        Figure("model examiner (AutoGen), async agent, 10 rounds", modelled, "us", 200),
        Figure("model examiner (AutoGen), async agent, 50 rounds", modelled_50, "us", note="see growth"),
        Figure("  growth from 10 to 50 rounds", modelled_50 / modelled, "x", 2),
    ]
