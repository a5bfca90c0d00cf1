"""Measures harness time per round: conversations with partners that answer at once, every round in the journal."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent

from bench.stub_model import InstantModel
from bench.stubs import TEXT, AsyncAgent, SyncAgent
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


def _per_round(agent: type, rounds: int, number: int) -> float:
    """Return the microseconds per round with a scripted examiner, as the median of several passes."""
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder)) as journal:
        asyncio.run(_conversations(agent, rounds, 3, journal, None))
        passes = [_timed(_conversations(agent, rounds, number, journal, None)) for _ in range(REPEATS)]
    return statistics.median(passes) / number / rounds


def _with_model(rounds: int, number: int) -> tuple[float, float, float]:
    """Return the microseconds per round with a model examiner, those of AutoGen's agent alone, and their ratio.

    Each pass measures both, one after the other, so that other load on the machine affects both alike.
    """
    pairs = []
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder)) as journal:
        client = ModelClient(AutoGenModel(InstantModel(), "instant"), RetryPolicy())
        asyncio.run(_conversations(AsyncAgent, rounds, 3, journal, client))
        for _ in range(REPEATS):
            ours = _timed(_conversations(AsyncAgent, rounds, number, journal, client))
            pairs.append((ours / number / rounds, _timed(_autogen_turns(rounds, number)) / number / rounds))
    ratio = statistics.median(ours / alone for ours, alone in pairs)
    return statistics.median(ours for ours, _ in pairs), statistics.median(alone for _, alone in pairs), ratio


def _timed(work: Coroutine[Any, Any, None]) -> float:
    """Return the microseconds that the work takes."""
    began = time.perf_counter()
    asyncio.run(work)
    return (time.perf_counter() - began) * 1e6


async def _autogen_turns(rounds: int, number: int) -> None:
    """Have AutoGen's agent take as many turns as an examiner does, which is asked once more after the last reply."""
    for _ in range(number):
        agent = AssistantAgent("examiner", InstantModel(), system_message="task")
        for _ in range(rounds + 1):
            await agent.run(task=TEXT)


def figures() -> list[Figure]:
    """Measure the time per round for each kind of examiner and agent."""
    scripted = _per_round(AsyncAgent, 10, 100)
    scripted_50 = _per_round(AsyncAgent, 50, 30)
    threaded = _per_round(SyncAgent, 50, 20)
    modelled, alone, ratio = _with_model(10, 50)
    modelled_50, alone_50, ratio_50 = _with_model(50, 15)
    return [
        Figure("scripted examiner, async agent, 10 rounds", scripted, "us", 35),
        Figure("scripted examiner, async agent, 50 rounds", scripted_50, "us", 35),
        Figure("  overhead of a synchronous agent's thread", threaded - scripted_50, "us", 110),
        Figure("model examiner (AutoGen), async agent, 10 rounds", modelled, "us", note=f"AutoGen alone: {alone:.0f}"),
        Figure("model examiner (AutoGen), async agent, 50 rounds", modelled_50, "us", note=f"alone: {alone_50:.0f}"),
        Figure("  against AutoGen's agent alone, 10 rounds", ratio, "x", 1.0),
        Figure("  against AutoGen's agent alone, 50 rounds", ratio_50, "x", 0.9),
        Figure("  growth from 10 to 50 rounds", modelled_50 / modelled, "x", 2),
    ]
