"""A source that drops the names of instrumentations, as Phoenix does, is read alike."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.viva.recordings.frameworks.test_frameworks import spans_of
from tests.viva.recordings.frameworks.truth import FRAMEWORKS, NAMES, compare, known_gaps
from viva.recordings.table import read_recordings
from viva.records.trajectory import trajectory

OTLP = [
    name for name in NAMES if json.loads((FRAMEWORKS / name / "truth.json").read_text()).get("reader", "otlp") == "otlp"
]


@pytest.mark.parametrize("name", OTLP)
def test_spans_without_scopes_say_the_same(name: str, tmp_path: Path) -> None:
    source, without = spans_of(FRAMEWORKS / name), tmp_path / "without.jsonl"
    content = source.read_bytes()
    lines = (gzip.decompress(content) if source.suffix == ".gz" else content).decode().splitlines()
    with without.open("w") as out:
        for line in lines:
            document = json.loads(line)
            for resource in document["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    scope.pop("scope", None)
            out.write(json.dumps(document) + "\n")
    assert compare(without, FRAMEWORKS / name / "truth.json").wrong == known_gaps(FRAMEWORKS / name)


@pytest.mark.parametrize(
    "name", ["crewai_crew", "google_adk", "google_adk_legacy", "smolagents_tools", "strands_agents", "strands_latest"]
)
def test_words_before_parallel_calls_are_the_thought_of_each(name: str) -> None:
    recordings = read_recordings(f"otlp:{spans_of(FRAMEWORKS / name)}")
    (parallel,) = [each for each in recordings if each.subject == "How warm is it in Paris and Rome?"]
    thoughts = [step.thought for step in trajectory(parallel.transcript) if step.tool is not None]
    assert thoughts == ["I ask for both."] * 2
