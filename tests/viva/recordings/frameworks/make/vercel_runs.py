"""Runs the questions of a recording of Vercel's AI SDK: `vercel_runs.mjs` asks them in Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    MODEL,
    SYSTEM,
    TOOLS,
    Nested,
    Script,
    Task,
    Turn,
    folder_given,
    model_server,
)

INNER = Task("Weather in Rome?", (Turn("", (("get_weather", {"city": "Rome"}),)), Turn("25 degrees.")))
OUTER = Task(
    "Ask the expert for the weather in Rome.",
    (Turn("The expert knows.", (("ask_expert", {"question": INNER.question}),)), Turn("25 degrees, says the expert.")),
)
TOOLS["ask_expert"] = lambda question: INNER.turns[-1].words
OBJECT = Task("How warm is it in Rome, as JSON?", (Turn('{"degrees":25}'),))


def record(single: Sequence[Task]) -> None:
    """Record tasks, whole and streamed, a conversation, an agent that asks another one, and an object as answer."""
    folder = folder_given()
    packages = Path(os.environ["NODE_PATH"])
    version = json.loads((packages / "ai/package.json").read_text())["version"]
    script = Script("Vercel AI SDK", f"ai {version}", "its own spans (experimental_telemetry)")
    program = packages.parent / "vercel_runs.mjs"
    shutil.copy(Path(__file__).with_suffix(".mjs"), program)
    with model_server(script) as url:
        nested = Nested(OUTER, INNER, ("asker", "expert"))
        number = len(single)
        questions = script.play_all((*single, *CONVERSATION, *single, nested, OBJECT))
        asked = {
            "url": url,
            "model": MODEL,
            "system": SYSTEM,
            "file": str(folder / "spans.jsonl"),
            "single": questions[:number],
            "conversation": questions[number : number + 2],
            "streamed": questions[number + 2 : -2],
            "nested": questions[-2],
            "object": questions[-1],
        }
        subprocess.run(["node", program, json.dumps(asked)], check=True, cwd=packages.parent)
    script.write_truth(folder)
