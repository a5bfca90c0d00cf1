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
    Script,
    Task,
    folder_given,
    model_server,
)


def record(single: Sequence[Task]) -> None:
    """Record tasks, whole and streamed, and a conversation."""
    folder = folder_given()
    packages = Path(os.environ["NODE_PATH"])
    version = json.loads((packages / "ai/package.json").read_text())["version"]
    script = Script("Vercel AI SDK", f"ai {version}", "its own spans (experimental_telemetry)")
    program = packages.parent / "vercel_runs.mjs"
    shutil.copy(Path(__file__).with_suffix(".mjs"), program)
    with model_server(script) as url:
        questions = script.play_all((*single, *CONVERSATION, *single))
        asked = {
            "url": url,
            "model": MODEL,
            "system": SYSTEM,
            "file": str(folder / "spans.jsonl"),
            "single": questions[: len(single)],
            "conversation": questions[len(single) : -len(single)],
            "streamed": questions[-len(single) :],
        }
        subprocess.run(["node", program, json.dumps(asked)], check=True, cwd=packages.parent)
    script.write_truth(folder)
