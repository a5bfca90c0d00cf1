"""DeepEval's conversation simulator with a model and an agent that answer at once, telemetry off. It saves nothing.

usage: python deepeval_simulator.py CONVERSATIONS ROUNDS CONCURRENCY
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="1", DEEPEVAL_DISABLE_DOTENV="1", ERROR_REPORTING="0")

import deepeval
from deepeval.dataset import ConversationalGolden
from deepeval.models import DeepEvalBaseLLM
from deepeval.simulator import ConversationSimulator
from deepeval.test_case import Turn

TEXT = ("I would like to change my booking please. " * 100)[:120]


class Instant(DeepEvalBaseLLM):
    """Fills any requested schema at once."""

    def load_model(self):
        return self

    def get_model_name(self):
        return "instant"

    def answer(self, schema):
        if "is_complete" in schema.model_fields:
            return schema(is_complete=False, reason="no")
        return schema(simulated_input=TEXT)

    def generate(self, prompt, schema=None):
        return self.answer(schema)

    async def a_generate(self, prompt, schema=None):
        return self.answer(schema)


async def agent(input):  # noqa: A002 - the simulator calls it by this name
    return Turn(role="assistant", content=TEXT)


conversations, rounds, concurrency = map(int, sys.argv[1:4])
goldens = [
    ConversationalGolden(scenario=f"Customer {n} wants to change a booking", user_description="polite")
    for n in range(conversations)
]
simulator = ConversationSimulator(model_callback=agent, simulator_model=Instant(), max_concurrent=concurrency)
began, cpu = time.perf_counter(), time.process_time()
cases = simulator.simulate(goldens, max_user_simulations=rounds)
wall, cpu = time.perf_counter() - began, time.process_time() - cpu
assert sum(len(case.turns) for case in cases) == conversations * rounds * 2
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall_s": wall, "cpu_s": cpu, "maxrss_mb": memory, "version": deepeval.__version__}))
