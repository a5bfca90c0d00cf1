"""The `viva` command as tests call it: in this process, which is many times as fast, or as the installed script.

What a command says, writes and ends with is the same in both. Where the process itself matters (signals, agents that
leave it or write past Python's streams, locales, what is imported at the start), tests ask for one of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import resource
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from tests.viva.pytest_plugin.sessions import WITHOUT_OTHERS
from tests.warm.commands import WarmPytest, WarmViva, can_be_warm, warm_for
from tests.warm.processes import WarmProcess
from viva.cli.init import written
from viva.cli.main import run

VIVA = Path(sysconfig.get_path("scripts")) / "viva"
SECONDS = 120.0
"""Until a process that should have ended counts as hung."""
_MODELS = ("OPENAI_", "VIVA_MODEL", "VIVA_AGENT_")


def clean_environment() -> dict[str, str]:
    """Without keys and models of whoever runs the tests."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_MODELS)}


def in_this_process(
    *arguments: str | Path | float, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command with these arguments, in a folder."""
    command = ["viva", *map(str, arguments)]
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with (
        _as_in_a_fresh_process(cwd, {**clean_environment(), **(environment or {})}),
        open(os.devnull) as nothing,
        mock.patch.multiple(sys, argv=command, stdin=nothing, stdout=out, stderr=errors),
        contextlib.closing(out),
        contextlib.closing(errors),
    ):
        code = run()
        said = [_text_of(stream) for stream in (out, errors)]
    return subprocess.CompletedProcess(command, code, *said)


def in_a_process(
    *arguments: str | Path | float,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run the installed script to its end."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    env = {**clean_environment(), **(environment or {})}
    return run_viva(*arguments, cwd=cwd, env=env, timeout=seconds, **{**streams, **options})


def start(*arguments: str | Path | float, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """Start the installed script and leave it running."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return start_viva(*arguments, cwd=cwd, env=clean_environment(), **{**streams, **options})


def start_viva(*arguments: str | Path | float, **options: Any) -> subprocess.Popen[Any]:
    """Start the installed script with these options of Popen: warm, unless one of them requires a fresh process."""
    return _started([VIVA, *map(str, arguments)], options)


@contextlib.contextmanager
def warm_trials() -> Iterator[None]:
    """Meanwhile, the commands that `viva init` tries are warm, and those of pytest load no plugins but Viva's."""

    def run_warm(words: list[str], **options: Any) -> subprocess.CompletedProcess[Any]:
        _, _, module, *rest = words
        if module != "pytest":
            return _ended(words, WarmViva, **options)
        return _ended([*words[:3], *WITHOUT_OTHERS, *rest], WarmPytest, **options)

    with mock.patch.object(written, "subprocess", _Trials(run_warm)):
        yield


class _Trials:
    """The module `subprocess`, as far as `viva init` uses it."""

    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self, run: Callable[..., subprocess.CompletedProcess[Any]]) -> None:
        self.run = run


def _started(
    words: Sequence[str | Path], options: dict[str, Any], warm: type[WarmProcess] | None = None
) -> subprocess.Popen[Any]:
    env = options.get("env")
    if can_be_warm(env, options):
        return (warm or warm_for(words, env))(words, **options)
    if group := options.pop("group", None):
        words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *words]
    if limits := options.pop("open_files", None):
        options["preexec_fn"] = partial(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
    return subprocess.Popen(words, **options)


def run_viva(*arguments: str | Path | float, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Do with `start_viva` what `subprocess.run` does with Popen."""
    return _ended([VIVA, *map(str, arguments)], **options)


def run_python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program that imports Viva, as `subprocess.run` does: a file, or a text after `-c`, and its arguments.

    It may find modules of Viva imported already: what the program imports is no matter of its test.
    """
    return _ended([sys.executable, *words], **options)


def run_pytest(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a session of pytest, as `subprocess.run` does; it may find pytest's and Viva's modules imported already."""
    return _ended([sys.executable, "-m", "pytest", *words], WarmPytest, **options)


def _ended(
    words: Sequence[str | Path],
    warm: type[WarmProcess] | None = None,
    *,
    timeout: float | None = None,
    input: str | bytes | None = None,  # noqa: A002, as subprocess.run calls it
    capture_output: bool = False,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with _started(words, options, warm) as process:
        try:
            out, errors = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, errors)
    if check:
        done.check_returncode()
    return done


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def _as_in_a_fresh_process(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """In this folder and environment; what is imported from the folder is imported anew by the next call."""
    before, modules, path, script = Path.cwd(), set(sys.modules), list(sys.path), sys.modules["__main__"]
    with mock.patch.dict(os.environ, environment, clear=True):
        os.chdir(folder)
        sys.modules["__main__"] = ModuleType("__main__")  # or the usage lines of click would name pytest's
        try:
            yield
        finally:
            os.chdir(before)
            sys.modules["__main__"] = script
            sys.path[:] = path
            if imported := set(sys.modules) - modules:
                folders = tuple(f"{Path(folder)}{os.sep}" for folder in path if folder)
                for name in imported:
                    if _is_elsewhere(sys.modules[name], folders):
                        del sys.modules[name]
            importlib.invalidate_caches()


def _is_elsewhere(module: object, folders: tuple[str, ...]) -> bool:
    """Whether a module was found elsewhere than on the path of the tests: in the folder of an agent."""
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    return file is not None and not str(file).startswith(folders)
