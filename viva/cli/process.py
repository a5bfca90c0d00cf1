"""Runs a command in its process: reports user errors, handles signals, standard output and the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import errno
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from viva.adapters.calls import HEED_SECONDS, abandon
from viva.adapters.machine import MORE_THREADS
from viva.adapters.tasks import protect_tasks
from viva.adapters.threads import SparingPool
from viva.cases import CaseError
from viva.cli.stopping import ONE_STOP_SECONDS, STOPPED, heard_stops, leave_at_once, note_stop
from viva.errors import SetupError
from viva.exam.outcome import EXIT_MISTAKE, EXIT_NOT_SCORED
from viva.full_disk import error_words
from viva.journal.writer import JournalError, JournalLost
from viva.records.redact import redacted
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.streams import open_descriptor

P = ParamSpec("P")
T = TypeVar("T")

NO_THREAD = "can't start new thread"
"""What Python says where the system allows no further thread."""
STOP_SECONDS = 30.0
"""Maximum time from the first signal to the end, whatever the agents do; closing them can take a while."""
DEAF_SECONDS = 1.5
"""The same if an agent blocks the event loop, which then cannot react."""


class Interfered(Exception):
    """Code in Viva's process that is not Viva's has cancelled its work."""


def fail(message: str, code: int = EXIT_MISTAKE) -> NoReturn:
    """Print the message without secrets, and exit."""
    with contextlib.suppress(OSError):  # after SIGHUP the terminal is gone, and the exit code still says something
        click.echo(redacted(message), err=True)
    sys.exit(code)


def report_user_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Turn the known errors of a command into a line or two and an exit code, without a traceback."""

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
        except KeyboardInterrupt:  # click's exit code for it is 1, which a gate would take for a low score
            fail("viva: stopped.", STOPPED)
        except Interfered:
            words = "an agent in Viva's process has cancelled Viva's own work; --isolate gives it a process of its own"
            fail(f"viva: {words}. What was saved is kept, and can be resumed.", EXIT_NOT_SCORED)
        except MemoryError:
            fail("viva: there is not enough memory (ulimit -v, or the limit of the container).", EXIT_NOT_SCORED)
        except RuntimeError as error:
            if str(error) != NO_THREAD:
                raise
            fail(f"viva: {error}. {MORE_THREADS}", EXIT_NOT_SCORED)
        except OSError as error:
            if error.errno == errno.EBADF:
                words = "a file that Viva had open was closed. An agent or evaluator in the same process can do that"
                fail(f"viva: {words}; --isolate gives each agent a process of its own.", EXIT_NOT_SCORED)
            fail(f"viva: {error_words(error)}", EXIT_NOT_SCORED)

    return wrapped


@contextlib.contextmanager
def separate_stdout() -> Iterator[None]:
    """Redirect the output of agents and their child processes to stderr; stdout is for the report or JSON object."""
    ours = sys.stdout
    ours.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    # A separate stream: an agent that closes sys.stdout must not close ours.
    sys.stdout = open_descriptor(os.dup(2), encoding="utf-8", errors="backslashreplace", line_buffering=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.close()
        sys.stdout = ours
        os.dup2(kept, 1)
        os.close(kept)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run the event loop until `work` is done; Ctrl-C, SIGTERM and SIGHUP cancel it, so that it can clean up.

    Several signals at once count as one; a Ctrl-C some time after the first ends the process at once. A signal that is
    ignored stays ignored. An agent in this process can neither stop the loop nor keep it from closing.

    Raises:
        KeyboardInterrupt: a signal cancelled it.
        Interfered: something else did.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    protect_tasks(loop)
    loop.set_default_executor(SparingPool())
    task = loop.create_task(work)
    heard = threading.Event()
    stopped: list[float] = []
    # A signal may arrive while code of an agent runs, on whose behalf nothing of Viva's can be cancelled.
    own = contextvars.copy_context()

    def cancel() -> None:
        heard.set()
        task.cancel()

    def stop(number: int, _: object) -> None:
        note_stop()
        stopped.append(time.monotonic())
        if len(stopped) == 1:
            loop.call_soon_threadsafe(cancel, context=own)
            # A blocking async agent keeps the loop from reacting, and the sender of the signal will not wait.
            for seconds, unless in ((DEAF_SECONDS, heard), (STOP_SECONDS, threading.Event())):
                hard = threading.Timer(seconds, _stop_hard, (unless,))
                hard.daemon = True
                with contextlib.suppress(RuntimeError):  # no thread is left
                    hard.start()
        elif number == signal.SIGINT and stopped[-1] - stopped[0] > ONE_STOP_SECONDS:
            _stop_hard(threading.Event())

    before = {number: signal.signal(number, stop) for number in heard_stops()}
    try:
        _run_to_end(loop, task)
        return task.result()
    except asyncio.CancelledError:
        if stopped:
            raise KeyboardInterrupt from None
        raise Interfered from None
    finally:
        try:
            _run_to_end(loop, loop.create_task(_close(loop)))
            loop.close()
        finally:
            asyncio.set_event_loop(None)
            for number, handler in before.items():
                # After a stop, all that is left is a message: a late Ctrl-C must not turn that into a traceback.
                signal.signal(number, signal.SIG_IGN if stopped else handler)


def _run_to_end(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """Run a loop until a task is done, although an agent in this process may stop the loop, or raise SystemExit there.

    Signals raise nothing while the loop runs, so a KeyboardInterrupt is an agent's, too.
    """
    task.add_done_callback(lambda _: loop.stop())
    while not task.done():
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


async def _close(loop: asyncio.AbstractEventLoop) -> None:
    """End what agents have left on a loop: tasks and generators get a moment, and threads that it waits for none."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=HEED_SECONDS)
        await abandon(left, 0.0)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HEED_SECONDS):
            await loop.shutdown_asyncgens()
    executor = getattr(loop, "_default_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)


def _stop_hard(unless: threading.Event) -> None:
    if not unless.is_set():
        leave_at_once(", because something blocks; what was saved is kept")
