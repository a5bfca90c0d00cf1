"""Where the tests of one process have what Viva keeps for a user."""

from __future__ import annotations

import os
import tempfile

import pytest


def own_state(config: pytest.Config) -> None:
    """Let Viva keep keys and scaled pictures in a folder that is removed in the end: nothing is left in the user's."""
    state = tempfile.TemporaryDirectory(prefix="viva-test-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name
    os.environ["XDG_CACHE_HOME"] = state.name
