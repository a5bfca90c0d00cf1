"""The example of an agent behind OpenAI's APIs passes a bundled case, over both of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viva.conftest import Desk

SERVER = Path(__file__).resolve().parents[4] / "examples" / "agents" / "http" / "openai_server.py"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.kill()
    server.wait()
    server.stdout.close()


@pytest.mark.parametrize("place", ["/v1", "/v1/responses"])
def test_the_example_passes_a_bundled_case_over_both_apis(tmp_path: Path, url: str, place: str) -> None:
    record = Desk(tmp_path).run("sum_1_to_50", "--agent", f"{url}{place}#adder", process=place == "/v1")
    assert (record["outcome"], record["score"]) == ("scored", 1.0)
    assert record["usage"]["target"]["output_tokens"] > 0
