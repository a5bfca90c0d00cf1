"""Feeds a sink with completed runs; a sink that fails or hangs is reported, and stops nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from viva.adapters.calls import TimeoutLeft, abandon, guarded, within
from viva.adapters.part_errors import describe_part
from viva.adapters.threads import AgentThread
from viva.exam.subscribers import RunHeader
from viva.full_disk import NO_ROOM, error_words
from viva.records.run_record import RunRecord
from viva.records.run_span import RunSpan
from viva.records.sink import Sink
from viva.records.transcript import Transcript

QUEUE = 200
"""Maximum number of runs that wait for a sink; then the suite waits for it, for a limited time."""
WRITE_SECONDS = 30.0
"""Maximum time for one run; a slower sink is disabled."""
CLOSE_SECONDS = 30.0
"""Maximum time for the runs that still wait at the end, and again for `close`."""
UNAFFECTED = "The runs and other sinks continue."


class SinkFeed:
    """The subscriber that feeds one sink. The sink is called from one task, one run at a time."""

    def __init__(self, sink: Sink, name: str, report: Callable[[str], None], folder: Path | None = None) -> None:
        """Args:
        sink: The sink.
        name: Its name in messages to the user.
        report: Reports a failure to the user in one line; called for the first failure, and once at the end.
        folder: The journal's folder, for the sink's method `begin`, if it has one; None without a journal.
        """
        self._sink, self._name, self._report = sink, name, report
        self._spans: dict[str, RunSpan] = {}
        """The spans of the current runs, by id."""
        self._reported = False
        if folder is not None and callable(begin := getattr(sink, "begin", None)):
            self._safely(begin, folder)
        self._waiting: asyncio.Queue[tuple[RunRecord, Transcript]] = asyncio.Queue(QUEUE)
        self._task: asyncio.Task[None] | None = None
        # A daemon thread: a synchronous sink that hangs must not delay the end of the process.
        self._thread = AgentThread("sink")
        self._calls: list[asyncio.Future[Any]] = []
        """Calls of the sink that have not ended."""
        self._given_up = False
        self._closed = False
        self._lost = 0
        """Number of runs that were not written."""

    async def on_start(self, run: RunHeader) -> None:
        """Let a sink that traces runs open the span of the run that starts now.

        It is called in the run's own task, so that what it makes current there is current for the agent.
        """
        self.begin_run(run)

    def begin_run(self, run: RunHeader) -> None:
        """Do what `on_start` does."""
        if (earlier := self._spans.pop(run.id, None)) is not None:
            # Another attempt at the same run: each has a span of its own.
            self._safely(earlier.end, None, None)
        start = getattr(self._sink, "start_run", None)
        if start is None or self._given_up or run.max_rounds is None:
            return
        span = self._safely(partial(start, run.subject, run=run.id, agent=run.agent))
        if span is not None:
            self._spans[run.id] = span

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """End the span of the run, if it has one, and queue the run for the sink."""
        if (span := self._spans.pop(run.id, None)) is not None:
            self._safely(span.end, record, transcript)
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        if self._given_up:
            self._lost += 1
            return
        try:
            self._waiting.put_nowait((record, transcript))
        except asyncio.QueueFull:
            await self._put_patiently(record, transcript)

    def give_up_run(self, run: RunHeader) -> None:
        """End the span of a run that will not be completed."""
        if (span := self._spans.pop(run.id, None)) is not None:
            self._safely(span.end, None, None)

    async def settled(self, seconds: float) -> bool:
        """Wait until the sink has all runs that were queued, for a limited time; return whether it has."""
        try:
            async with asyncio.timeout(seconds):
                await self._waiting.join()
        except TimeoutError:
            return False
        return True

    async def on_closed(self) -> None:
        """Wait for the queued runs, close the sink, and report how many runs were not written; once."""
        if self._closed:
            return
        self._closed = True
        for span in self._spans.values():
            self._safely(span.end, None, None)
        self._spans.clear()
        if self._task is not None:
            if not self._given_up:
                try:
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await self._waiting.join()
                except TimeoutError:
                    self._give_up(f"it did not write all runs within {CLOSE_SECONDS:g} s")
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._lost += self._waiting.qsize()
        await self._close()
        self._thread.release()
        await abandon(self._calls)
        if self._lost:
            self._report(f"the sink {self._name} did not write {self._lost} of the completed runs")

    async def _put_patiently(self, record: RunRecord, transcript: Transcript) -> None:
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._waiting.put((record, transcript))
        except TimeoutError:
            self._lost += 1
            self._give_up(f"{QUEUE} runs are waiting, and it wrote none within {WRITE_SECONDS:g} s")

    async def _work(self) -> None:
        while True:
            record, transcript = await self._waiting.get()
            try:
                if self._given_up:
                    self._lost += 1
                    continue
                await self._call(WRITE_SECONDS, self._sink.write, record, transcript)
            except asyncio.CancelledError:
                self._lost += 1  # closing gives it up: nobody knows whether it was written
                raise
            except TimeoutLeft:
                self._lost += 1
                self._give_up(f"writing a run took longer than {WRITE_SECONDS:g} s")
            except Exception as error:
                self._report_failure(error)
                self._lost += 1
            finally:
                self._waiting.task_done()

    def _safely(self, method: Callable[..., Any], *arguments: object) -> Any:
        """Call a method that returns at once. Returns None where it raised."""
        try:
            return method(*arguments)
        except Exception as error:
            self._report_failure(error)

    def _report_failure(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            full = isinstance(error, OSError) and error.errno in NO_ROOM
            words = error_words(error) if full and isinstance(error, OSError) else describe_part(error, self._sink)
            self._report(f"the sink {self._name} failed: {words}. {UNAFFECTED}")

    def _give_up(self, why: str) -> None:
        if not self._given_up:
            self._given_up = True
            # The sink's thread may never return from its call; another one closes the sink.
            self._thread.release()
            self._thread = AgentThread("sink-close")
            self._report(f"the sink {self._name} is disabled: {why}. {UNAFFECTED}")

    async def _close(self) -> None:
        close = getattr(self._sink, "close", None)
        if close is None:
            return
        try:
            await self._call(CLOSE_SECONDS, close)
        except TimeoutLeft:
            self._report(f"the sink {self._name} did not close within {CLOSE_SECONDS:g} s")
        except Exception as error:
            self._report(f"the sink {self._name} failed to close: {describe_part(error, self._sink)}")

    async def _call(self, seconds: float, method: Callable[..., Any], *arguments: object) -> None:
        """Call the sink, on its thread if it is synchronous and may block, for at most `seconds`.

        Raises:
            TimeoutLeft: it took longer.
            Exception: whatever it raised.
        """
        is_async = inspect.iscoroutinefunction(method)
        work = guarded(method(*arguments)) if is_async else self._on_thread(method, arguments)
        task = asyncio.ensure_future(work)
        self._calls = [*(call for call in self._calls if not call.done()), task]
        await within(seconds, task)

    async def _on_thread(self, method: Callable[..., Any], arguments: tuple[object, ...]) -> None:
        result = await self._thread.call(lambda: method(*arguments))
        if inspect.isawaitable(result):
            await guarded(result)
