"""The start of the `viva` command: signals, streams and exit codes. It imports only what the command at hand needs."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

from viva.cli.lazy import imported
from viva.cli.stopping import STOPPED, forget_stops, handle_stops, was_stopped
from viva.streams import protect_streams

HELP = frozenset({"-h", "--help"})


def main() -> NoReturn:
    """Entry point of the `viva` script: run the command that the process was called with, and exit."""
    from viva.cli.supervision import end_work

    try:
        handle_stops()
        code = _supervised_run()
        end_work(code)
        forget_stops()
    except KeyboardInterrupt:  # a signal before or after the command itself; only the first one raises it
        code = STOPPED
        end_work(code)
    sys.exit(code)


def _supervised_run() -> int:
    from viva.cli.supervision import SUPERVISED, supervise

    if SUPERVISED.intersection(sys.argv[1:2]) and not HELP.intersection(sys.argv[2:]):
        supervise()
    code = run()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:  # /dev/full; an agent that closed it
        _say(error)
        code = code or 3
        with contextlib.suppress(OSError, ValueError):  # or Python would choose its own exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    return code


def _say(error: Exception) -> None:
    from viva.full_disk import error_words

    words = error_words(error) if isinstance(error, OSError) else str(error)
    with contextlib.suppress(OSError, ValueError):
        _print_error(words)


def _print_error(words: str) -> None:
    if sys.stderr is not None:
        print(f"viva: {words}", file=sys.stderr, flush=True)


def run() -> int:
    """Run the command in `sys.argv` in this process, and return its exit code."""
    # Agents write in every alphabet; with a C locale, that must not cause a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    protect_streams()
    code = 0
    try:
        _run_command()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = STOPPED
    except MemoryError:
        _print_error("there is not enough memory (ulimit -v, or the limit of the container).")
        code = 3
    except OSError as error:  # of `--version` and help; commands report their own
        _say(error)
        code = 3
    except Exception:
        code = 3
        if not was_stopped():  # Python's exit code for this is 1, which a gate would take for a low score
            import traceback

            traceback.print_exc()
            _print_error("this is a bug in Viva; please report it with the lines above.")
    return STOPPED if was_stopped() else code


def _run_command() -> None:
    if sys.argv[1:] == ["--version"]:  # without click, which takes most of the time of a start
        from viva.version import viva_version

        print(f"viva {viva_version()}", flush=True)
        return
    imported("viva.cli.group").viva()


if __name__ == "__main__":
    main()
