"""The worker on a node: builds its resources once from the work order, and does jobs until it is closed.

Ray makes an actor of `NodeWorker`; its methods take and return plain data, and raise nothing that a user's code caused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from viva.errors import SetupError, SharedSetupError
from viva.exam.given import Given
from viva.exam.kept_workspaces import FoundWorkspace
from viva.exam.resources import Resources, build_resources, load_with
from viva.exam.subscribers import Subscribers
from viva.journal.kept_files import may_be_written, write_once
from viva.journal.reader import StoredRun
from viva.journal.writer import JournalError
from viva.judge.registry import find_evaluators
from viva.plugins.import_strings import import_string
from viva.processes import process_is_alive
from viva.records.history import EvalHistorySource
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.suites.gate_checks import refuse_unprovided
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.on_ray.archives import unpack_folder
from viva.suites.on_ray.border import Plain, pack, require_plain, unpack
from viva.suites.on_ray.channel import EventChannel
from viva.suites.on_ray.node_journal import NodeHistory, NodeJournal, NodeSubscriber
from viva.suites.worker import Worker, refuse_unknown_prices
from viva.version import viva_version

NODE_FOLDER = "viva-nodes"
CLOSE_SECONDS = 10.0


class NodeWorker:
    """Does jobs on a node, several at a time. All methods are called on one event loop."""

    def __init__(self) -> None:
        self._resources: Resources | None = None
        self._channel: EventChannel | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._node = ""
        self._root = Path()

    async def open(self, order: bytes, setup: dict[str, Plain]) -> dict[str, Plain]:
        """Build what the jobs require.

        Args:
            order: The packed WorkOrder.
            setup: `version` of the driver's Viva, `node` (this node's name), `here` (the working directory), `agents`
                and `evaluators` (where the staged parts with these names are), `data` (the folders of cases'
                data files, by hash).

        Returns:
            `notices`, or `error` with its `kind` (`setup`, `sandbox`, or `unavailable` with a `remedy`).
        """
        require_plain(setup, "the set-up of a worker")
        self._node = setup["node"]
        try:
            if setup["version"] != viva_version():
                raise SetupError(
                    f"the node {self._node} has Viva {viva_version()}, and the driver has {setup['version']}: "
                    "install the same version on both."
                )
            resources = await self._build(unpack(WorkOrder, order), setup)
        except SetupError as error:
            return {"error": str(error), "kind": "setup"}
        except SandboxUnavailable as error:
            return {"error": error.reason, "remedy": error.remedy, "kind": "unavailable"}
        except SandboxError as error:
            return {"error": str(error), "kind": "sandbox"}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}", "kind": "setup"}
        self._channel = EventChannel()
        self._root = await asyncio.to_thread(_make_root)
        self._resources = replace(resources, node=self._node)
        return {"notices": list(resources.notices)}

    async def _build(self, order: WorkOrder, setup: Mapping[str, Plain]) -> Resources:
        here = Path(setup["here"])
        if here.is_dir():
            # Ray lets everybody on the node read what it unpacks; cases and agents are for their owner.
            os.chmod(here.absolute().parent, 0o700)
            os.chdir(here)
        cases = [
            replace(case, data_folder=Path(setup["data"][case.hash])) if case.hash in setup["data"] else case
            for case in order.cases
        ]
        order = replace(order, cases=tuple(cases))
        options = order.options
        agents = {spec: replace(load_with(options, staged), spec=spec) for spec, staged in setup["agents"].items()}
        evaluators = {name: import_string(staged) for name, staged in setup["evaluators"].items()}
        given = Given(agents=agents, evaluators=evaluators)
        find_evaluators(options.evaluators, evaluators)
        resources = await build_resources(options, order.subjects, order.agents, asks=order.asks, given=given)
        try:
            if order.subjects:
                refuse_unprovided(order.gated, resources.judge.evaluators)
            if order.needs_prices:
                refuse_unknown_prices(resources)
            await resources.look_at_agents()
            if order.subjects:
                await resources.look_at_models()
        except BaseException:
            await resources.close()
            raise
        return resources

    async def start(self, number: int, job: bytes, beside: dict[str, Plain]) -> None:
        """Begin a job; `take` returns what happens.

        Args:
            number: The driver's number of the job.
            job: The packed Job.
            beside: `files` (name and content of each that the conversation names), `workspace` (an archive, or None),
                `missing` (why there is none, or None), `here` (whether it is in the journal that the driver writes).
        """
        require_plain(beside, "what goes with a job")
        self._tasks[number] = asyncio.create_task(self._work(number, unpack(Job, job), beside))

    async def take(self, acknowledged: list[list[Plain]]) -> list[list[Plain]]:
        """Return the next events; see `EventChannel.take`."""
        assert self._channel is not None
        return await self._channel.take(acknowledged)

    async def cancel(self, number: int) -> None:
        """Stop a job; its last event is `cancelled`, unless it has ended."""
        if (task := self._tasks.get(number)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop all jobs, and release the sandbox and connections."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._resources is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._resources.close()
            self._resources = None
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)

    async def _work(self, number: int, job: Job, beside: dict[str, Plain]) -> None:
        assert self._channel is not None
        assert self._resources is not None
        channel, folder = self._channel, self._root / str(number)
        try:
            job = await asyncio.to_thread(_unpack_beside, job, beside, folder)
            journal = NodeJournal(folder, channel, number, self._node, _kept_root())
            worker = _JobWorker(self._resources, journal, channel, number, beside)
            done = await worker.do(job, Subscribers([NodeSubscriber(channel, number)]))
            stopped = None if job.action is Action.JUDGE else self._resources.health(job.header.agent).stopped
            channel.put(number, "end", pack(replace(done.header, node=self._node)), pack(done.spent), stopped)
        except SharedSetupError as error:
            channel.put(number, "refused", str(error))
        except asyncio.CancelledError:
            channel.put(number, "cancelled")
        except JournalError as error:
            channel.put(number, "broken", str(error))
        except BaseException as error:
            channel.put(number, "broken", f"{type(error).__name__}: {error}")
        finally:
            self._tasks.pop(number, None)
            # On a thread, and not waited for: removing a folder can take as long as many rounds.
            asyncio.get_running_loop().run_in_executor(None, lambda: shutil.rmtree(folder, ignore_errors=True))


class _JobWorker(Worker):
    """Does one job with the resources of the node's worker."""

    def __init__(
        self, resources: Resources, journal: NodeJournal, channel: EventChannel, number: int, beside: dict[str, Plain]
    ) -> None:
        super().__init__(resources, resources.cases, journal)
        self._found = NodeHistory(channel, number)
        self._missing = beside["missing"]
        self._has_files = beside["workspace"] is not None

    def history(self, folder: Path | str) -> EvalHistorySource:
        """Return the runs that the driver knows."""
        return self._found

    def find_files(self, stored: StoredRun) -> FoundWorkspace:
        """Return the files that came with the job."""
        return FoundWorkspace(stored.folder / WORKSPACE if self._has_files else None, self._missing)


WORKSPACE = "workspaces/_sent"


def _unpack_beside(job: Job, beside: dict[str, Plain], folder: Path) -> Job:
    """Store what came with a job, and return the job with the folder where it is now.

    Raises:
        JournalError: a file does not match its name.
        OSError, ValueError: the files cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if job.conversation is None:
        return job
    source = folder if beside["here"] else folder / "source"
    source.mkdir(exist_ok=True)
    for name, content in beside["files"]:
        if not may_be_written(name, content):
            raise JournalError(f"{name[:200]!r} is not a file name of a journal, or does not match the content.")
        write_once(source, name, content)
    if beside["workspace"] is not None:
        unpack_folder(beside["workspace"], source, WORKSPACE)
    return replace(job, conversation=replace(job.conversation, folder=str(source)))


def _make_root() -> Path:
    """Make the folder of this process, and remove those of processes that were killed."""
    parent = _parent()
    for old in parent.glob("worker-*"):
        process = old.name.split("-")[1]
        if not process.isdecimal() or not process_is_alive(int(process)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"worker-{os.getpid()}-", dir=parent))


def _kept_root() -> Path:
    return _parent() / "kept"


def _parent() -> Path:
    folder = Path(tempfile.gettempdir(), f"{NODE_FOLDER}-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise SetupError(f"{folder} belongs to another user: remove it, or set TMPDIR for Ray on this node.")
    folder.chmod(0o700)  # also one that was made earlier, with other permissions
    return folder
