"""What a judge that believes everything gets wrong, and that `--judge both` shows it: the example of docs/models.md."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.viva.conftest import Desk

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "judges" / "weak_judge.py"


@pytest.fixture
def weak() -> Iterator[dict[str, str]]:
    """The environment for a model that is served by the example."""
    spec = importlib.util.spec_from_file_location("weak_judge", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = ThreadingHTTPServer(("127.0.0.1", 0), module.Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_judge_that_believes_the_agent_passes_wrong_sums_and_both_shows_it(desk: Desk, weak: dict[str, str]) -> None:
    run = ("run", "sum_1_to_50", "--agent", "example:forgetful", "--judge-model", "openai:weak", "--sandbox", "process")
    alone = desk.viva(*run, "--judge", "model", "--quiet", environment=weak, expect=0)
    assert "scored 15/15 = 1.00" in alone.stdout, "on its own it passes the sums of rounds 40 and 50, which are wrong"
    both = desk.viva(*run, "--judge", "both", environment={**weak, "COLUMNS": "160"}, expect=0)
    assert "6/15 = 0.40" in both.stdout
    assert both.stdout.count("[judges-disagree]") == 2
    assert both.stdout.count("code and model disagree: The agent succeeds in") == 2
    assert both.stdout.count("(code: miss, weak: hit)") == 2
