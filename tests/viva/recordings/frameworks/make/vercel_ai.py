"""Records Vercel's AI SDK by the spans that it writes itself (`ai.*`)."""

from __future__ import annotations

from tests.viva.recordings.frameworks.make.script import FAILING, PARALLEL, PLAIN, UNKNOWN_TOOL
from tests.viva.recordings.frameworks.make.vercel_runs import record

record((PLAIN, FAILING, PARALLEL, UNKNOWN_TOOL))
