"""The process from which `tests/warm/workers.py` forks: it collects the tests as a worker of pytest-xdist does.

Before the first test it forks for each worker that is asked for. In the fork, the program that pytest-xdist sends finds
a configuration and a session that are ready.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest


def main() -> None:
    """Collect the tests, and fork for each request."""
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # nobody reads what a worker prints
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends this process by leaving it
    os.environ["PYTEST_XDIST_WORKER"] = "gw0"
    os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(asked["input"]["workercount"])

    import _pytest.config

    # Its files and descriptors would be shared by all forks. Each begins to capture on its own.
    config = _pytest.config._prepareconfig([*asked["args"], "--capture=no"], None)
    from xdist import remote  # after pytest has seen its plugins, which are to be imported by it

    remote.setup_config(config, None)
    config.workerinput = {"workerid": "gw0", "testrunuid": "", **asked["input"]}  # type: ignore[attr-defined]
    config.workeroutput = {}  # type: ignore[attr-defined]
    config.pluginmanager.register(Paused(int(sys.argv[-1]), asked["args"]))
    config.hook.pytest_cmdline_main(config=config)


class Paused:
    """Stops a session before its first test, and goes on in each fork."""

    def __init__(self, handle: int, args: list[str]) -> None:
        self.handle = handle
        self.args = args
        self.session: Any = None
        self.prepare_config: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> object:
        """Serve, unless something could not be collected, which is for a fresh worker to report."""
        if session.testsfailed or threading.active_count() != 1:
            os._exit(1)
        from tests.warm.forks import serve_forks

        gc.collect()
        gc.freeze()
        serve_forks(self.handle)
        self.session = session
        self._run()
        return True

    def _run(self) -> None:
        """Be a worker: run what execnet sends, as `python -c` would."""
        import _pytest.config
        from _pytest.faulthandler import fault_handler_stderr_fd_key

        config = self.session.config
        if fault_handler_stderr_fd_key in config.stash:  # before another file gets the number, as no fork has it open
            os.dup2(2, config.stash[fault_handler_stderr_fd_key], inheritable=False)
        self.prepare_config = _pytest.config._prepareconfig
        _pytest.config._prepareconfig = lambda *_: config
        random.seed()
        for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
            stream = io.TextIOWrapper(os.fdopen(number, f"{mode}b", closefd=False), line_buffering=number == 2)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        status = 1
        try:
            exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
            status = 0
        finally:  # the frames above are those of the session that was paused: they must not end it a second time
            atexit._run_exitfuncs()
            os._exit(status)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> object:
        """What the program of pytest-xdist calls to run a session: run the one that was paused."""
        if self.session is None:
            return None
        import _pytest.config

        _pytest.config._prepareconfig = self.prepare_config  # sessions that tests run in this process have their own
        _renew(config, self.args)
        session, hook = self.session, config.hook
        for plugin in config.pluginmanager.get_plugins():
            if type(plugin).__name__ == "WorkerInteractor":
                interactor = plugin
        interactor.pytest_sessionstart(session)
        hook.pytest_collection_finish(session=session)
        session.exitstatus = _outcome(session, interactor)
        os.chdir(session.startpath)
        hook.pytest_sessionfinish(session=session, exitstatus=session.exitstatus)
        config._ensure_unconfigure()
        return session.exitstatus


def _outcome(session: Any, interactor: Any) -> int:
    """Run the tests that are sent; return the exit code of pytest."""
    config = session.config
    try:
        interactor.pytest_runtestloop(session)
    except (KeyboardInterrupt, pytest.exit.Exception):
        config.hook.pytest_keyboard_interrupt(excinfo=pytest.ExceptionInfo.from_current())
        return pytest.ExitCode.INTERRUPTED
    except BaseException:
        config.notify_exception(pytest.ExceptionInfo.from_current(), config.option)
        return pytest.ExitCode.INTERNAL_ERROR
    return pytest.ExitCode.TESTS_FAILED if session.testsfailed else pytest.ExitCode.OK


def _renew(config: Any, args: list[str]) -> None:
    """Give a fork what no two workers may share: files of what is captured, and folders."""
    from _pytest.tmpdir import TempPathFactory

    from tests.state import own_state

    capture = config._parser.parse_known_args(args).capture
    config.option.capture = capture
    captured = config.pluginmanager.getplugin("capturemanager")
    captured.stop_global_capturing()
    captured._method = capture
    captured.start_global_capturing()
    captured.suspend_global_capture()
    config._tmp_path_factory = TempPathFactory.from_config(config, _ispytest=True)
    own_state(config)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    main()
