"""The tools that run exams: `viva` in a process of its own, without a terminal, so that nothing can be permitted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context

from viva.cli.assistants.answers import ROOM, WIDTH, answer, refusal
from viva.cli.assistants.output import Tail
from viva.cli.assistants.places import case_below, journal_below, new_journal, short
from viva.cli.daily.status_words import status_lines
from viva.cli.project.used_file import nearest_project
from viva.cli.stopping import STOPPED
from viva.errors import SetupError
from viva.exam.outcome import EXIT_DONE, EXIT_MISTAKE, EXIT_NOT_SCORED
from viva.journal.errors import JournalError
from viva.journal.lines import FILE
from viva.project.finding import NAME
from viva.project.reading import Project
from viva.records.text import counted
from viva.suites.at_work.status import StatusReader

MOST_SECONDS = 3600.0
"""Maximum time of a run, whatever the assistant asks for."""
MOST_WAIT = 600.0
LOOK_SECONDS = 0.5
"""Between two looks at the journal, each of which is reported as progress."""
STOP_SECONDS = 30.0
"""Time that a stopped command has to end its agents and to store what they said."""
GRACE_SECONDS = 5.0
"""How much later a suite is stopped that has not stopped itself by its `--max-time`."""
MEANING = {
    EXIT_DONE: "done; gates, if there are any, are passed",
    1: "done, and a gate failed",
    EXIT_MISTAKE: "nothing was run",
    EXIT_NOT_SCORED: "some runs could not be scored",
    STOPPED: "stopped",
}


@dataclass(slots=True)
class StartedCommand:
    """A command at work, or one that has ended."""

    process: asyncio.subprocess.Process
    journal: Path
    output: Tail
    stopped: str = ""
    """Why it was stopped; empty if it was not."""
    guard: asyncio.Task[None] | None = None
    """Stops it when its time is over."""

    @property
    def is_busy(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    async def stop(self, why: str) -> None:
        """Have it end as with Ctrl-C; what was done is kept."""
        if not self.is_busy:
            return
        self.stopped = why
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()

    async def stop_after(self, seconds: float, most: float) -> None:
        """Stop it when its time is over."""
        await asyncio.sleep(seconds)
        await self.stop(f"it took {most:g} seconds, and max_seconds allows no more")


class RunTools:
    """Runs one command at a time for one assistant, and ends it with the server."""

    def __init__(self) -> None:
        self._work: StartedCommand | None = None

    async def run(
        self,
        context: Context[Any, Any],
        suite: str | None = None,
        case: str | None = None,
        where: str | None = None,
        failed_in: str | None = None,
        wait_seconds: float = 45.0,
        max_seconds: float = 600.0,
    ) -> str:
        """Run a suite of the nearest viva.yaml by its name, or one case with the agent of its section `run`.

        If it takes longer than wait_seconds, the answer names the journal, and `status` waits for the rest.

        Args:
            suite: The name of a suite, as list_suites gives it.
            case: Instead of a suite: a bundled case, or the path of a case below the working folder.
            where: With a suite: only runs for which this is true, such as "case=refund and agent~gpt".
            failed_in: With a suite: only cases that failed in this journal.
            wait_seconds: How long this call may wait, at most 600.
            max_seconds: When the work is stopped, at most 3600; what was done is kept.
        """
        try:
            most = min(max_seconds, MOST_SECONDS)
            words, journal = _command(suite, case, where, failed_in, most)
            self._refuse_second()
        except (SetupError, JournalError) as error:
            raise refusal(str(error)) from error
        work = self._work = await _start(words, journal)
        seconds = most if case is not None else most + GRACE_SECONDS
        work.guard = asyncio.create_task(work.stop_after(seconds, most))
        return await self._wait(context, work, wait_seconds)

    async def status(self, context: Context[Any, Any], journal: str | None = None, wait_seconds: float = 0.0) -> str:
        """Say how far the work on a journal is; of what `run` started, wait for the end and give its report.

        Args:
            journal: The folder of a journal; by default, that of the latest call of `run`.
            wait_seconds: How long to wait for the end of what `run` started, at most 600.
        """
        work = self._work
        try:
            folder = work.journal if journal is None and work is not None else journal_below(journal or "")[0]
            if work is not None and folder.resolve() == work.journal.resolve():
                return await self._wait(context, work, wait_seconds)
            if journal is None:
                raise SetupError("nothing was run here yet; name the folder of a journal (list_journals).")
            found = await asyncio.to_thread(StatusReader(folder).read)
        except (SetupError, JournalError) as error:
            raise refusal(str(error)) from error
        return answer(f"status of {short(folder)}", "\n".join(status_lines(found)))

    async def stop(self) -> str:
        """Stop what `run` started. What was done is kept in its journal, and can be resumed."""
        work = self._work
        if work is None or not work.is_busy:
            raise refusal("nothing that `run` started is at work.")
        await work.stop("you asked for it")
        return _report(work)

    async def close(self) -> None:
        """End what is at work, because the assistant has gone."""
        if self._work is not None:
            if self._work.guard is not None:
                self._work.guard.cancel()
            await self._work.stop("the assistant has gone")

    def _refuse_second(self) -> None:
        if self._work is not None and self._work.is_busy:
            raise SetupError(
                f"another run is at work in {short(self._work.journal)}: wait for it (status with wait_seconds), or "
                "call stop."
            )

    async def _wait(self, context: Context[Any, Any], work: StartedCommand, seconds: float) -> str:
        reader, until = StatusReader(work.journal), time.monotonic() + min(max(seconds, 0.0), MOST_WAIT)
        try:
            while work.is_busy and time.monotonic() < until:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(LOOK_SECONDS, max(0.01, until - time.monotonic()))):
                        await work.process.wait()
                await _tell(context, reader)
        except asyncio.CancelledError:  # the user has stopped the call, and so the work
            await work.stop("the call was cancelled")
            raise
        if not work.is_busy:
            return _report(work)
        shown = await _lines(reader)
        return answer(
            f"still at work in {short(work.journal)}: call status with wait_seconds, or stop.", "\n".join(shown)
        )


def _command(
    suite: str | None, case: str | None, where: str | None, failed_in: str | None, seconds: float
) -> tuple[list[str], Path]:
    """Return the words of the command, and the folder of its journal.

    Raises:
        SetupError: what is asked for cannot be run like that.
    """
    if (suite is None) == (case is None):
        raise SetupError("run takes either suite (a name that list_suites gives) or case.")
    if seconds <= 0:
        raise SetupError("max_seconds must be greater than 0.")
    project = nearest_project()
    if case is not None:
        if where is not None or failed_in is not None:
            raise SetupError("where and failed_in choose runs of a suite; with case, leave them out.")
        journal = new_journal("run")
        name = case_below(case)
        return ["run", *_isolated(project), "--out", str(journal), "--", name], journal
    assert suite is not None
    if project is None:
        raise SetupError(f"there is no {NAME} in this folder or above it; `viva init suite` writes one.")
    section = project.suite(suite)
    limit = min(seconds, section.values.get("max_time") or seconds)
    journal = new_journal(suite)
    words = ["suite", suite, "--out", str(journal), "--max-time", f"{limit:g}"]
    words += [] if where is None else [f"--where={where}"]
    words += [] if failed_in is None else [f"--failed-in={journal_below(failed_in)[0]}"]
    return words, journal


def _isolated(project: Project | None) -> list[str]:
    """Return the sandbox of a single case. Its code may be anybody's, so it never runs in the open by default."""
    if project is not None and project.run is not None and project.run.values.get("sandbox", "auto") != "auto":
        return []
    docker = "DOCKER_HOST" in os.environ or Path("/var/run/docker.sock").exists()
    return ["--sandbox", "docker" if docker or shutil.which("bwrap") is None else "bwrap"]


async def _start(words: Sequence[str], journal: Path) -> StartedCommand:
    reading, writing = os.pipe()
    try:
        # Without -P, Python would import modules of the working folder, which may be a stranger's, in place of others.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "viva", *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=writing, stderr=writing,
            env={**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"},
        )  # fmt: skip
    finally:
        os.close(writing)
    return StartedCommand(process, journal, Tail(reading))


async def _tell(context: Context[Any, Any], reader: StatusReader) -> None:
    """Report how many runs have ended; nothing before there is a journal."""
    with contextlib.suppress(JournalError):
        found = await asyncio.to_thread(reader.read)
        passed = found.statuses.get("passed", 0)
        total = float(found.planned) if found.planned else None
        await context.report_progress(
            float(found.ended), total, f"{counted(found.ended, 'run')} ended, {passed:,} passed"
        )


async def _lines(reader: StatusReader) -> list[str]:
    try:
        return list(status_lines(await asyncio.to_thread(reader.read)))
    except JournalError:
        return ["no run has begun yet"]


def _report(work: StartedCommand) -> str:
    """Return what a command printed that has ended.

    Raises:
        ToolError: it ran nothing.
    """
    code = work.process.returncode
    if work.guard is not None:
        work.guard.cancel()
    words = work.output.text()
    if code == EXIT_MISTAKE and not work.stopped:
        raise refusal(words.strip() or "viva ran nothing, and did not say why.")
    why = f" ({work.stopped})" if work.stopped else ""
    where = f"journal: {short(work.journal)}" if (work.journal / FILE).exists() else "nothing was stored"
    head = f"exit code {code}: {MEANING.get(code or 0, 'ended')}{why}. {where}. explain_failures says what was missed."
    return answer(head, words[-ROOM:])
