"""Options that several subcommands share, and the one way in which their mistakes are told."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from adapters.errors import SetupError
from cases import CaseError
from harness.options import Options
from harness.outcome import EXIT_MISTAKE, EXIT_NOT_SCORED
from records.journal import FILE, JournalError, JournalLost
from records.text import printable, slug
from sandbox import DependencyError, SandboxError, SandboxUnavailable

P = ParamSpec("P")
T = TypeVar("T")

RUNS = Path("runs")


SECONDS = click.FloatRange(0, min_open=True)


reply_timeout_option = click.option(
    "--reply-timeout",
    type=SECONDS,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for one reply.",
)
isolate_option = click.option(
    "--isolate", is_flag=True, help="Run an agent from a module or file in a process of its own."
)
agent_memory_option = click.option(
    "--agent-memory",
    type=click.IntRange(32),
    metavar="MIB",
    help="Memory of an agent in a process of its own, at most.",
)


def _stack(*options: Callable[[Callable[P, T]], Callable[P, T]]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Several options as one decorator, listed in the order in which they are given."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def exam_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about the conversation and the agent's process; `options_from` reads them."""
    return _stack(
        click.option(
            "--examiner",
            metavar="KIND",
            help="script, model, or replay:JOURNAL. [default: model if one is given, else script]",
        ),
        click.option("--examiner-model", metavar="NAME", help="Model for the examiner alone."),
        click.option(
            "--max-rounds", type=click.IntRange(1), help="Examiner messages at most. [default: the case's, else 15]"
        ),
        reply_timeout_option,
        click.option(
            "--timeout", type=SECONDS, metavar="SECONDS", help="Longest conversation. [default: the case's, else none]"
        ),
        click.option("--app-dir", metavar="FOLDER", help="Replaces the case's app_dir."),
        click.option("--allow-pre-command", is_flag=True, help="Let a case run its pre_command on this machine."),
        isolate_option,
        agent_memory_option,
    )(function)


def judge_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about judge, models and sandbox; `options_from` reads them."""
    return _stack(
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
    )(function)


def options_from(said: Mapping[str, Any], agent: str | None = None) -> Options:
    """The options of an exam from what a command was told; what the command does not offer keeps its default."""
    renamed = {"reply_timeout": "reply_seconds", "timeout": "run_seconds", "agent_memory": "agent_memory_mb"}
    known = {name: value for key, value in said.items() if (name := renamed.get(key, key)) in Options.names()}
    return Options(**{**known, "agent": agent})


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The journal's folder. [default: a new one under runs/]",
)


def output_options(function: Callable[P, T]) -> Callable[P, T]:
    """Options about what is written and printed."""
    return _stack(
        out_option,
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report."),
        click.option("--quiet", is_flag=True, help="Print the score and nothing else."),
        click.option(
            "--fail-under",
            type=click.FloatRange(0, 1),
            metavar="SCORE",
            help="Exit with 1 if the score (its low bound) is below this.",
        ),
    )(function)


def new_journal_folder(out: Path | None, name: str) -> Path:
    """Where a new journal goes."""
    if out is not None:
        return out
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(name, 40)}-{secrets.token_hex(2)}"


def refuse_journal(folder: Path) -> None:
    """See that a folder holds no run yet: what is written there is a journal of its own, mixed with no other's runs.

    Raises:
        SetupError: it holds some.
    """
    file = folder / FILE
    if file.is_file() and file.stat().st_size:
        raise SetupError(f"{folder} holds a journal already; name another folder with --out.")


def derived_name(source: Path, what: str) -> str:
    """The name of a journal made from another: without the other's time stamp and mark, which would pile up."""
    plain = re.sub(r"^\d{8}-\d{6}-|-[0-9a-f]{4}$", "", source.resolve().name)
    return f"{what}-{plain.removeprefix(f'{what}-')}"


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
        except JournalLost as error:
            fail(f"viva: {error}", EXIT_NOT_SCORED)
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


STOP_SECONDS = 30.0
"""From SIGTERM to the end, whatever the agents do; closing them all may take a while."""


def _stop_hard() -> None:
    os.write(2, b"viva: stopped hard, because something blocks; what was saved is kept\n")
    os._exit(130)
