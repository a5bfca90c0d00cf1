"""Records Strands Agents as `strands.py` does, by the latest conventions: one event holds all messages of a side."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
runpy.run_path(str(Path(__file__).with_name("strands_agents.py")), run_name="__main__")
