"""The driver's side of one job: writes what a node reports to the journal, and notifies the subscribers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from viva.adapters.trace_context import current_traceparent
from viva.adapters.workspace import clear_path
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.exam.subscribers import RunHeader, Subscribers
from viva.journal.history import JournalHistory
from viva.journal.long_texts import restore_texts
from viva.journal.reader import decode_run
from viva.journal.writer import Journal, JournalError, JournalLost
from viva.records.codec import decode, loads
from viva.records.run_record import RunRecord, Setting
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Round, Transcript, Usage
from viva.suites.job import Job
from viva.suites.on_ray.archives import unpack_folder
from viva.suites.on_ray.beside import Beside
from viva.suites.on_ray.border import LinkLost, Plain, pack, unpack
from viva.suites.on_ray.progress import RunProgress
from viva.suites.worker import Done, usage_of


@dataclass(frozen=True, slots=True)
class JobRefused:
    """A node cannot do a job, because of something that concerns all its jobs with this agent."""

    words: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A node did a job."""

    done: Done
    stopped: str | None
    """Why the node should get no further job with this agent, in words; None if it may."""


class Broken(Exception):
    """A node failed at a job in a way that it should not. The message says how."""


class RemoteJob:
    """One job at a node. `follow` runs in the task of the run, so that spans of sinks belong to it."""

    def __init__(
        self,
        job: Job,
        beside: Beside,
        node: str,
        journal: Journal,
        subscribers: Subscribers,
        history: JournalHistory,
        progress: RunProgress,
    ) -> None:
        self._job, self._beside, self._node = job, beside, node
        self._journal, self._subscribers, self._history = journal, subscribers, history
        self._progress = progress
        self._events: asyncio.Queue[tuple[list[Plain], asyncio.Future[Plain]] | None] = asyncio.Queue()
        self._closed = False
        self._header = job.header
        self._rounds: list[Round] = []
        self._transcript: Transcript | None = None
        self._record: RunRecord | None = None
        """That of the present attempt."""
        self._spent = NO_USAGE
        """The usage of all attempts with a record."""
        self._left_out: str | None = None
        """Why the agent's files could not be linked into the new journal."""

    def take(self, event: list[Plain]) -> asyncio.Future[Plain]:
        """Hand over an event; the future has the answer when it has been dealt with."""
        handled: asyncio.Future[Plain] = asyncio.get_running_loop().create_future()
        if self._closed:
            handled.set_result(None)
        else:
            self._events.put_nowait((event, handled))
        return handled

    def lose(self) -> None:
        """Note that the worker is gone."""
        self._events.put_nowait(None)

    def recorded(self) -> Done | None:
        """Return the result of the job if the record that ends it is in the journal, whatever became of the node since.

        An agent in the worker's process could otherwise have its run judged again, or left out of the averages, by
        ending the process after the verdict.
        """
        if self._record is None or self._progress.is_unfinished:
            return None
        return Done(self._header, self._record, self._whole_transcript(), self._spent)

    def close(self) -> None:
        """Acknowledge whatever else comes, without looking at it."""
        self._closed = True
        while not self._events.empty():
            if (item := self._events.get_nowait()) is not None and not item[1].done():
                item[1].set_result(None)

    async def follow(self) -> Ended | JobRefused:
        """Deal with the events of the job until it has ended.

        Raises:
            LinkLost: the worker is gone.
            Broken: the node failed.
            JournalError: the journal cannot be written.
            asyncio.CancelledError: the job was stopped.
        """
        while True:
            item = await self._events.get()
            if item is None:
                raise LinkLost
            (_, _, kind, *values), handled = item
            answer = None
            try:
                if kind == "end":
                    return self._end(*values)
                if kind == "refused":
                    return JobRefused(str(values[0]))
                if kind == "cancelled":
                    raise Broken(f"the node {self._node} stopped the job")
                if kind == "broken":
                    raise Broken(str(values[0]))
                answer = await self._deal(kind, values)
            finally:
                if not handled.done():
                    handled.set_result(answer)

    async def _deal(self, kind: str, values: list[Any]) -> Plain:
        match kind:
            case "append":
                self._append(*values)
            case "round":
                await self._subscribers.on_round(self._header, self._rounds[-1])
            case "start":
                return await self._start(*values)
            case "file":
                name, content = values
                self._journal.keep(name, content)
            case "files":
                await self._unpack(*values)
            case "copy":
                await self._copy(*values)
            case "history":
                return await self._tell(*values)
            case _:
                raise Broken(f"the node {self._node} sent an unknown event {kind!r:.80}")
        return None

    async def _start(self, header: bytes) -> str | None:
        self._header = replace(unpack(RunHeader, header), node=self._node)
        self._rounds, self._transcript, self._record = [], None, None
        await self._subscribers.on_start(self._header)
        return current_traceparent()

    def _append(self, kind: str, run: str, attempt: int, body: bytes) -> None:
        if run != self._job.header.id:
            raise Broken(f"the node {self._node} sent an event of the run {run!r:.200}, which it does not have")
        if kind == "setting" and self._left_out is not None:
            setting = replace(unpack(Setting, body), workspace=None, workspace_left_out=storable(self._left_out))
            body = pack(setting)
        self._journal.append_encoded(kind, run, attempt, body)
        value: Transcript | RunRecord | None = None
        if kind == "round":
            self._rounds.append(self._read(Round, body))
        elif kind == "transcript":
            value = self._transcript = self._read(Transcript, body)
        elif kind == "run":
            value = self._record = self._read(RunRecord, body)
            self._spent += usage_of(self._job, self._record)
        self._progress.written(self._job, attempt, value)

    def _read(self, kind: type[Any], body: bytes) -> Any:
        data = loads(body)
        return decode(
            kind, restore_texts(self._journal.folder, data) if b'"_texts"' in body or b'"_steps"' in body else data
        )

    async def _unpack(self, name: str, content: bytes) -> None:
        if name != workspace_name(self._job.header.id):
            raise Broken(f"the node {self._node} sent files for {name!r:.200}")
        folder = self._journal.folder

        def write() -> None:
            clear_path(folder / name)
            unpack_folder(content, folder, name)

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            raise JournalLost(f"cannot write {folder / name}: {error.strerror}") from error
        except ValueError as error:
            raise Broken(str(error)) from error

    async def _copy(self, with_lines: bool) -> None:
        """Copy the conversation and the agent's files from the journal that holds them, as `carry_over` does."""
        conversation, folder = self._job.conversation, self._journal.folder
        assert conversation is not None
        if self._beside.workspace is not None:
            name = workspace_name(self._job.header.id)
            keep = partial(keep_workspace, self._beside.workspace, folder, name, link=True)
            self._left_out = await asyncio.to_thread(keep)
        lines = conversation.content if with_lines else b""
        self._journal.copy_lines(lines, Path(conversation.folder))

    async def _tell(self, task: str | None, limit: int | None) -> Plain:
        try:
            return [pack(run.record) for run in await self._history.runs(task, limit=limit)]
        except (OSError, JournalError) as error:
            return str(error)

    def _end(self, header: bytes, spent: bytes, stopped: str | None) -> Ended:
        if self._record is None:
            raise Broken(f"the node {self._node} sent no record")
        done = Done(unpack(RunHeader, header), self._record, self._whole_transcript(), unpack(Usage, spent))
        return Ended(done, stopped)

    def _whole_transcript(self) -> Transcript:
        if self._job.conversation is not None and self._transcript is None and not self._rounds:
            return decode_run(self._job.conversation).transcript
        return (self._transcript or Transcript()).with_rounds(tuple(self._rounds))
