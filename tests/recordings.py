"""The recorded conversations that lie beside the repository, for the tests that want them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters.readers.chat import read_conversations
from adapters.readers.recording import Recording

TAU = Path(__file__).parents[2] / "shared/data/tau_bench_airline_gpt4o/conversations.jsonl"


def tau_conversations() -> list[Recording]:
    """All of them; the test is skipped where they are not there, unless they are required."""
    if not TAU.is_file():
        reason = f"{TAU} is not there: the shared recordings lie beside the repository"
        if "data" in os.environ.get("VIVA_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return list(read_conversations(TAU))
