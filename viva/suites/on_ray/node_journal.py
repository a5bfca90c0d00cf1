"""What a run on a node writes and reads instead of a journal: everything goes to the driver, which owns the journal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from viva.adapters.trace_context import join_trace
from viva.exam.subscribers import RunHeader
from viva.journal.kept_files import is_kept, may_be_written, names_in, read_sound, write_once
from viva.journal.writer import JournalError, JournalLost, RunEvents, encode_data
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import RunRecord
from viva.records.transcript import Round
from viva.suites.on_ray.archives import TooLarge, pack_folder
from viva.suites.on_ray.border import pack, unpack
from viva.suites.on_ray.channel import EventChannel


class NodeJournal:
    """A `JournalWriter` that sends all events of one job to the driver. Images and texts are kept here too, because
    evaluators read them."""

    def __init__(self, folder: Path, channel: EventChannel, job: int, node: str, left: Path) -> None:
        """Args:
        folder: The folder of this job on the node; removed after the job.
        channel: The line to the driver.
        job: The number of the job.
        node: The node's name.
        left: The folder for files that are too large to be sent; it stays.
        """
        self.folder = folder
        self._channel, self._job, self._node, self._left = channel, job, node, left

    def append(self, kind: str, run: str, attempt: int, value: object) -> None:
        """Send one event. It is urgent if the driver should not wait for the next one to write it."""
        body = encode_data(value, self.keep)
        self._channel.put(self._job, "append", kind, run, attempt, body, urgent=kind in ("transcript", "run"))

    def append_all(self, run: str, attempt: int, events: Sequence[tuple[str, object]]) -> None:
        """Send several events, one after another."""
        for kind, value in events:
            self.append(kind, run, attempt, value)

    def copy_lines(self, lines: bytes, source: Path, then: RunEvents | None = None) -> None:
        """Make the driver copy the conversation, which it has; only the files that its lines name are copied here."""
        for name in names_in(lines):
            if not self.holds(name) and (content := read_sound(source, name)) is not None:
                self._write(name, content)
        self._channel.put(self._job, "copy", bool(lines), urgent=False)
        if then is not None:
            self.append_all(*then)

    def keep(self, name: str, content: bytes) -> None:
        """Store a file here and send it.

        Raises:
            JournalError: the file cannot be written, or its name is invalid or does not match its content.
        """
        if not may_be_written(name, content):
            raise JournalError(f"{name[:200]!r} is not a file name of a journal, or does not match the content.")
        self._write(name, content)
        self._channel.put(self._job, "file", name, content, urgent=False)

    def holds(self, name: str) -> bool:
        """Return whether a file is here. Cases count as stored: the driver stores them before it sends a job."""
        return name.startswith("cases/") or is_kept(self.folder, name)

    async def send_files(self, run: str, name: str) -> str | None:
        """Send the agent's files as an archive; if they are too large, move them aside and return where they stay."""
        folder = self.folder / name
        try:
            content = await asyncio.to_thread(pack_folder, folder)
        except TooLarge as error:
            place = await asyncio.to_thread(self._set_aside, folder)
            where = "and could not be kept there" if place is None else f"in {place}"
            return f"the agent's files stayed on the node {self._node}, {where}, because {error}, too much to be sent"
        except OSError as error:
            return f"the agent's files on the node {self._node} cannot be read: {error.strerror}"
        if content is not None:
            self._channel.put(self._job, "files", name, content, urgent=False)
        return None

    def _set_aside(self, folder: Path) -> Path | None:
        """Copy a folder to where it stays: it is judged in its place."""
        with contextlib.suppress(OSError, shutil.Error):
            self._left.mkdir(parents=True, exist_ok=True, mode=0o700)
            target = self._left / f"{folder.name}-{os.urandom(4).hex()}"
            # The link of a file costs nothing, and the job's folder is removed as a whole afterwards.
            shutil.copytree(folder, target, symlinks=True, copy_function=_link)
            return target
        return None

    def _write(self, name: str, content: bytes) -> None:
        try:
            write_once(self.folder, name, content)
        except OSError as error:
            raise JournalLost(f"the node {self._node} cannot write {self.folder / name}: {error.strerror}") from error


def _link(source: str, target: str) -> None:
    os.link(source, target, follow_symlinks=False)


class NodeSubscriber:
    """Reports to the driver how a run goes, and waits until the driver has notified its subscribers."""

    def __init__(self, channel: EventChannel, job: int) -> None:
        self._channel, self._job = channel, job

    async def on_start(self, run: RunHeader) -> None:
        """Notify the driver that a run starts, and join the trace in which its sinks record it."""
        traceparent = await self._channel.ask(self._job, "start", pack(run))
        if traceparent:
            join_trace(traceparent)

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        """Wait until the round is in the journal."""
        await self._channel.ask(self._job, "round")


class NodeHistory:
    """An `EvalHistorySource` that asks the driver."""

    def __init__(self, channel: EventChannel, job: int) -> None:
        self._channel, self._job = channel, job

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return recorded runs, newest last.

        Raises:
            JournalError: the driver cannot read them.
        """
        answer = await self._channel.ask(self._job, "history", task, limit)
        if isinstance(answer, str):
            raise JournalError(answer)
        return [EvalRunRecord(unpack(RunRecord, record)) for record in answer]
