"""Records Google's ADK as `google_adk.py` does, in its older format (`gcp.vertex.agent.*`), which was the only one."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

os.environ["ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN"] = "1"
runpy.run_path(str(Path(__file__).with_name("google_adk.py")), run_name="__main__")
