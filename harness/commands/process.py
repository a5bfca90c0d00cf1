"""How a command runs in its process: its mistakes, its signals, its standard output, its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from adapters.errors import SetupError
from cases import CaseError
from harness.exam.outcome import EXIT_MISTAKE, EXIT_NOT_SCORED
from records.journal import JournalError, JournalLost
from records.text import printable
from sandbox import SandboxError, SandboxUnavailable

P = ParamSpec("P")
T = TypeVar("T")

STOPPED = 130
"""Exit code after Ctrl-C or SIGTERM, as shells have it."""
STOP_SECONDS = 30.0
"""From SIGTERM to the end, whatever the agents do; closing them all may take a while."""


def fail(message: str, code: int = EXIT_MISTAKE) -> NoReturn:
    """Say what is wrong, and end."""
    click.echo(printable(message), err=True)
    sys.exit(code)


def report_user_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Turn the known errors of a command into a line or two and an exit code; no traceback for the user's mistake."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except JournalLost as error:
            fail(f"viva: {error}", EXIT_NOT_SCORED)
        except (CaseError, SetupError, JournalError, SandboxUnavailable) as error:
            fail(f"viva: {error}")
        except SandboxError as error:
            fail(f"viva: the sandbox failed: {error}", EXIT_NOT_SCORED)
        except KeyboardInterrupt:  # click's own exit code for it is 1, which a gate would take for a low score
            fail("viva: stopped.", STOPPED)
        except OSError as error:
            if error.errno == errno.EPIPE:  # `viva replay | head`: click ends quietly
                raise
            fail(f"viva: {error}", EXIT_NOT_SCORED)

    return wrapped


@contextlib.contextmanager
def stdout_kept_apart() -> Iterator[None]:
    """Send to stderr what agents and their child processes print: stdout is for the report, or the one JSON object."""
    ours = sys.stdout
    ours.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    # A stream of its own: an agent that closes sys.stdout must not close ours.
    sys.stdout = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.close()
        sys.stdout = ours
        os.dup2(kept, 1)
        os.close(kept)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run the event loop until `work` is done; Ctrl-C and SIGTERM cancel it, so that it can put things away.

    Raises:
        KeyboardInterrupt: it was cancelled by a signal.
    """

    async def guarded() -> T:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()

        def stop(*_: object) -> None:
            loop.call_soon_threadsafe(task.cancel)
            # An async agent that blocks keeps the loop from hearing of it; whoever sent SIGTERM will not wait.
            hard = threading.Timer(STOP_SECONDS, _stop_hard)
            hard.daemon = True
            hard.start()

        before = signal.signal(signal.SIGTERM, stop)
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            signal.signal(signal.SIGTERM, before)

    return asyncio.run(guarded())


def _stop_hard() -> None:
    os.write(2, b"viva: stopped hard, because something blocks; what was saved is kept\n")
    os._exit(STOPPED)
