"""Options that several subcommands share, and the one way in which their mistakes are told."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from adapters.errors import SetupError
from cases import CaseError
from harness.outcome import EXIT_MISTAKE, EXIT_NOT_SCORED
from records.journal import FILE, JournalError
from records.text import printable, slug
from sandbox import DependencyError, SandboxError, SandboxUnavailable

P = ParamSpec("P")
T = TypeVar("T")
Decorator = Callable[[Callable[P, T]], Callable[P, T]]

RUNS = Path("runs")


def judge_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about judge, models and sandbox."""
    for option in reversed(
        (
            click.option(
                "--judge",
                type=click.Choice(["code", "model", "both"]),
                help="Who judges points with eval_code. [default: code; points without it always go to the model]",
            ),
            click.option(
                "--model",
                metavar="NAME",
                help="Model for examiner and judge: openai:NAME, or a JSON/YAML file with an AutoGen component.",
            ),
            click.option("--judge-model", metavar="NAME", help="Model for the judge alone."),
            click.option(
                "--sandbox",
                type=click.Choice(["auto", "docker", "bwrap", "process"]),
                default="auto",
                show_default=True,
                help="Where eval_code runs.",
            ),
        )
    ):
        function = option(function)
    return function


def output_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about what is written and printed."""
    for option in reversed(
        (
            click.option(
                "--out",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="The journal's folder. [default: a new one under runs/]",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report."),
            click.option("--quiet", is_flag=True, help="Print the score and nothing else."),
            click.option(
                "--fail-under",
                type=click.FloatRange(0, 1),
                metavar="SCORE",
                help="Exit with 1 if the score (its low bound) is below this.",
            ),
        )
    ):
        function = option(function)
    return function


def new_journal_folder(out: Path | None, name: str) -> Path:
    """Where a new journal goes."""
    if out is not None:
        return out
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(name, 40)}-{secrets.token_hex(2)}"


def newest_journal() -> Path:
    """The newest journal under `runs/`.

    Raises:
        SetupError: there is none.
    """
    found = list(RUNS.glob(f"*/{FILE}")) if RUNS.is_dir() else []
    if not found:
        raise SetupError("there is no journal under runs/ yet; run an exam first, or name a journal's folder.")
    return max(found, key=lambda file: file.stat().st_mtime).parent


def fail(message: str, code: int = EXIT_MISTAKE) -> NoReturn:
    """Say what is wrong, and end."""
    click.echo(printable(message), err=True)
    sys.exit(code)


def told_plainly(function: Callable[P, T]) -> Callable[P, T]:
    """Turn the known errors of a command into a line or two and an exit code; no traceback for the user's mistake."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (CaseError, SetupError, JournalError, SandboxUnavailable, DependencyError) as error:
            fail(f"viva: {error}")
        except SandboxError as error:
            fail(f"viva: the sandbox failed: {error}", EXIT_NOT_SCORED)
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
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    return asyncio.run(guarded())
