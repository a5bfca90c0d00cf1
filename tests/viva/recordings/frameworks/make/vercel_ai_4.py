"""Records version 4 of Vercel's AI SDK, with other names of some attributes; a failing tool would end the run."""

from __future__ import annotations

from tests.viva.recordings.frameworks.make.script import PARALLEL, PLAIN
from tests.viva.recordings.frameworks.make.vercel_runs import record

record((PLAIN, PARALLEL))
