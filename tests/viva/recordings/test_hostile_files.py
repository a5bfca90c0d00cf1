"""Files of recordings that would be read for ever: devices, named pipes, and traces that nest without end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from viva.recordings.recording import RecordingError
from viva.recordings.table import read_recordings

DEEP = 4_000
"""Several times as deep as Python calls functions."""
DEEPER = 16_000


@pytest.mark.parametrize("reader", ["chat", "copilot", "spans", "otlp", "atif"])
@pytest.mark.parametrize("kind", ["device", "link", "pipe"])
def test_a_device_or_a_pipe_is_refused_at_once(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / "recording.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    else:
        path = Path("/dev/zero")
    with pytest.raises(RecordingError, match="not a regular file"):
        list(read_recordings(f"{reader}:{path}"))


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    (tmp_path / "link.json").symlink_to("talk.json")
    assert len(list(read_recordings(f"chat:{tmp_path / 'link.json'}"))) == 1


@pytest.mark.parametrize(
    ("kinds", "levels"),
    [(["CHAIN"], DEEP), (["AGENT"], DEEP), (["TOOL"], DEEP), (["LLM"], DEEP), (["CHAIN", "LLM"], DEEPER)],
)
def test_a_chain_of_nested_spans_is_read_whole(tmp_path: Path, kinds: list[str], levels: int) -> None:
    with (tmp_path / "chain.jsonl").open("w") as file:
        for number in range(levels):
            span = {
                "name": f"s{number}",
                "context": {"trace_id": "a" * 32, "span_id": f"{number + 1:016x}"},
                "parent_id": f"{number:016x}" if number else None,
                "start_time": 1_700_000_000_000_000_000 + number,
                "end_time": 1_700_000_001_000_000_000 - number,
                "attributes": {"openinference.span.kind": kinds[number % len(kinds)], "tool.name": f"t{number}"},
            }
            file.write(json.dumps(span) + "\n")
    (recording,) = read_recordings(f"spans:{tmp_path / 'chain.jsonl'}")
    (round_,) = recording.transcript.rounds
    assert [step.id for step in round_.steps] == [f"{number + 1:016x}" for number in range(levels)]
