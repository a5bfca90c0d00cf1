"""Inspect AI with its mock model as the agent and fixed follow-up questions. It writes its log.

usage: python inspect_mock_model.py CONVERSATIONS ROUNDS CONCURRENCY
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from importlib.metadata import version

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

TEXT = ("I would like to change my booking please. " * 100)[:120]
conversations, rounds, concurrency = map(int, sys.argv[1:4])


def answer(input, tools, tool_choice, config):  # noqa: A002 - the mock model calls it by these names
    output = ModelOutput.from_content("mockllm/agent", TEXT)
    # Without usage data, the mock model counts tokens with a tokenizer that it would have to download.
    output.usage = ModelUsage(input_tokens=20, output_tokens=20, total_tokens=40)
    return output


@solver
def conversation():
    async def solve(state, generate):
        for number in range(rounds):
            if number:
                state.messages.append(ChatMessageUser(content=f"{number:08d} {TEXT[:111]}"))
            state = await generate(state)
        return state

    return solve


samples = [Sample(id=n, input=f"{n:08d} {TEXT[:111]}", target="booking") for n in range(conversations)]
task = Task(dataset=MemoryDataset(samples), solver=conversation(), scorer=includes())
with tempfile.TemporaryDirectory() as folder:
    began, cpu = time.perf_counter(), time.process_time()
    (log,) = run(
        task,
        model=get_model("mockllm/agent", custom_outputs=answer),
        display="none",
        log_dir=folder,
        max_samples=concurrency,
    )
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
assert log.status == "success", log.error
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall_s": wall, "cpu_s": cpu, "maxrss_mb": memory, "version": version("inspect-ai")}))
