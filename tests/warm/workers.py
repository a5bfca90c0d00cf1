"""Workers of pytest-xdist that are forked from one process which has collected the tests.

Importing and collecting all tests takes eight seconds of processor time, in each worker. A forked worker takes next to
none, so that there can be more of them: much of the time of the tests is waiting.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.warm.processes import WarmProcess, WarmServer, warm_processes_work

if TYPE_CHECKING:
    import pytest

_SERVER = Path(__file__).with_name("worker_server.py")


class WarmWorker(WarmProcess):
    """A worker of pytest-xdist."""


def fork_workers(config: pytest.Config, specs: Sequence[Any]) -> bool:
    """Have the workers of this run forked, where that is possible: on Linux, and none is on another machine.

    Where the tests cannot be collected, fresh workers report why.
    """
    plain = all(spec.popen and not spec.python and not spec.chdir and not spec.env for spec in specs)
    if not specs or not plain or not warm_processes_work():
        return False
    from execnet import gateway_base, gateway_io

    seed = config.getoption("randomly_seed", None)
    options = {
        "args": [str(word) for word in config.invocation_params.args],
        "path": sys.path,
        "input": {"workercount": len(specs), "mainargv": sys.argv, "randomly_seed": seed},
    }
    server = WarmServer([sys.executable, _SERVER], json.dumps(options).encode())
    if not server.started():
        return False
    WarmWorker.server = server

    class _Connection(gateway_io.Popen2IOMaster):
        def __init__(self, args: Any, execmodel: Any) -> None:
            self.popen = WarmWorker(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            gateway_base.Popen2IO.__init__(self, self.popen.stdin, self.popen.stdout, execmodel=execmodel)

    gateway_io.Popen2IOMaster = _Connection  # also of workers that are started again after a crash
    return True
