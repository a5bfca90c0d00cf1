"""Records Vercel's AI SDK by the spans that it writes itself (`ai.*`): `vercel_ai.mjs` runs in Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    Script,
    folder_given,
    model_server,
)

folder = folder_given()
packages = Path(os.environ["NODE_PATH"])
version = json.loads((packages / "ai/package.json").read_text())["version"]
script = Script("Vercel AI SDK", f"ai {version}", "its own spans (experimental_telemetry)")
program = packages.parent / "vercel_ai.mjs"
shutil.copy(Path(__file__).with_suffix(".mjs"), program)
with model_server(script) as url:
    single = (PLAIN, FAILING, PARALLEL)
    questions = script.play_all((*single, *CONVERSATION, *single))
    asked = {
        "url": url,
        "model": MODEL,
        "system": SYSTEM,
        "file": str(folder / "spans.jsonl"),
        "single": questions[:3],
        "conversation": questions[3:5],
        "streamed": questions[5:],
    }
    subprocess.run(["node", program, json.dumps(asked)], check=True, cwd=packages.parent)
script.write_truth(folder)
