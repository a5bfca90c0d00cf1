"""The recorded conversations that lie beside the repository, for the tests that want them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from viva.recordings.chat import read_conversations
from viva.recordings.recording import Recording

DATA = Path(__file__).parents[2] / "shared/data"
TAU = DATA / "tau_bench_airline_gpt4o/conversations.jsonl"
LLAMA_INDEX = ("chat_model", "completion_model")
"""The two files of spans of one and the same LlamaIndex agent."""


def shared_file(path: Path) -> Path:
    """A file of the shared data; the test is skipped where it is not there, unless the data is required."""
    if not path.is_file():
        reason = f"{path} is not there: the shared recordings lie beside the repository"
        if "data" in os.environ.get("VIVA_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def tau_conversations() -> list[Recording]:
    """Read all of them."""
    return list(read_conversations(shared_file(TAU)))


def llama_index_spans(name: str) -> Path:
    """Find a file of LlamaIndex spans by one of the names `LLAMA_INDEX`."""
    return shared_file(DATA / "llama_index_react_spans" / f"{name}.json")


def recorded_family(name: str) -> Path:
    """Find the recorded traces of a family of agents (`tests/viva/recordings/families`)."""
    return Path(__file__).parent / "viva/recordings/families/recorded" / f"{name}.jsonl"
