"""Runs in the agent's process: answers requests one after another, on the thread and event loop that the agent expects.

It first imports the agent's module. Then it is a ready process: it is forked for each run, if that is safe, or serves a
run itself.

The main thread runs a plain agent, or the only event loop of an asynchronous one, which also listens to Viva. For a
plain agent, a second thread listens, so that a hung one can still be closed.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import queue
import signal
import sys
import threading
from _thread import start_new_thread  # before a library can replace it
from collections.abc import Callable
from typing import Any

from . import forks, frameworks, rules, stand_ins
from .agent import load, offered
from .raised import Home, home_of, in_short, raised_at, text_of
from .replies import encode, encode_reply
from .states import UnfitState, offers_state, state_text
from .surroundings import Noted, set_memory_limit
from .wire import LIMIT, FrameReader, receive, send

ASIDE = ("close", "reply_so_far")
"""The requests that are answered even if the agent hangs."""
MAY_BE_MISSING = ("save_state", "load_state", "load_conversation")
"""The requests that an agent may answer by NotImplementedError."""
_getpid, _exit, _loads = os.getpid, os._exit, json.loads


class AgentServer:
    """Serves `load`, `make`, `reply`, `reply_so_far`, `save_state`, `load_state`, `load_conversation` and `close`."""

    def __init__(self, descriptor: int, memory: int | None, files: int | None) -> None:
        self.descriptor = descriptor
        self.limits = (memory, files)
        self.me = os.getpid()
        self.requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.post: Callable[[dict[str, Any]], Any] = self.requests.put
        self.sending = threading.Lock()
        self.busy = False
        self.task: Any = None
        self.loop: Any = None
        self.module: Any = None
        self.factory: Any = None
        self.home: Home | None = None
        self.agent: Any = None
        self.verbose: bool | None = None

    def run(self) -> None:
        """Serve until killed."""
        request = receive(self.descriptor)
        if request is None:
            return
        # From here on it is the agent's code that fails; before, it was Viva's, or this machine.
        self.put(encode({"n": 0, "begun": True}))
        before, notes = forks.open_descriptors(), noted_output()
        importer = stand_ins.install(request["module"])
        try:
            self.module, self.factory = load(request["module"], request["name"])
        except rules.Setup as error:
            self.send(request, setup=error.facts)
            self.serve(None)
        self.home = home_of(request["module"], self.module)
        version = rules.version(self.module, self.factory)
        answer = {"version": version, "path": [entry or os.getcwd() for entry in sys.path], "prefix": sys.prefix}
        answer["old_import"] = importer.old_import
        answer["file"] = getattr(self.module, "__file__", None)
        is_async = inspect.iscoroutinefunction(getattr(self.factory, "get_reply_from_agent", None))
        if is_async:
            import asyncio  # noqa: F401 (here rather than in each fork)
        answer["why_not_forked"] = why_not = forks.why_not(before)
        printed = end_notes(notes)
        self.send(request, **answer)
        first = self.stand_ready(printed, forkable=not why_not)
        if is_async:
            self.serve_loop(first)
        self.serve(first)

    def stand_ready(self, printed: tuple[bytes, bytes], *, forkable: bool) -> dict[str, Any] | None:
        """Wait for the first request of a run, and return it; in a fork, where there is none yet, None."""
        if forkable:
            forks.ignore_ends_of_runs()
            gc.collect()
            gc.freeze()  # what is never collected is not copied either
        while True:
            request, files = forks.receive_fork(self.descriptor)
            if request is None:
                _exit(0)  # Viva is gone
            if request["do"] != "fork":
                if forkable:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                set_memory_limit(self.limits[0], for_good=True)
                return request
            own = forks.fork_run(request, self.descriptor, files, self.limits, printed)
            if own is not None:
                self.descriptor, self.me = own, os.getpid()
                return None

    def listen(self) -> None:
        while True:
            request = receive(self.descriptor)
            if request is None:
                return  # Viva is gone, which the supervisor knows too
            if request["do"] in ASIDE and self.busy and self.loop is None:
                self.answer(request)  # the main thread hangs: closing the agent from here may free it
            else:
                self.post(request)

    def serve(self, first: dict[str, Any] | None) -> None:
        """Serve a plain agent, always on the main thread."""
        self.begin_listening(first)
        while True:
            request = self.requests.get()
            self.busy = request["do"] not in ASIDE
            self.answer(request)

    def answer(self, request: dict[str, Any]) -> None:
        try:
            result = getattr(self, request["do"])(request)
            if inspect.isawaitable(result):
                result = self.awaited(result)
            frame = self.frame(request, result)
        except BaseException as error:
            frame = self.failure(request, error)
        self.busy = self.busy and request["do"] in ASIDE
        self.put(frame)

    def awaited(self, work: Any) -> Any:
        """Wait for an awaitable of a plain agent on an event loop in its own thread, which runs between the calls."""
        import asyncio

        if self.task is None:
            self.task = asyncio.new_event_loop()
            threading.Thread(target=self.task.run_forever, name="agent-loop", daemon=True).start()
        result, error = asyncio.run_coroutine_threadsafe(self.settled(work), self.task).result()
        if error is not None:
            raise error
        return result

    async def settled(self, work: Any) -> Any:
        """Return the result and the exception, because asyncio would pass on a TimeoutError without file and line."""
        try:
            return await self.guarded(work), None
        except Exception as error:
            return None, error

    def begin_listening(self, first: dict[str, Any] | None) -> None:
        if first is not None:
            self.post(first)
        if self.loop is None:
            start_new_thread(self.listen, ())
        else:
            # By the loop itself: a thread would have to wake it up for each request, which takes 40 us.
            self.loop.add_reader(self.descriptor, self.take, FrameReader(self.descriptor))
        if first is None:  # in a fork, up to here it was Viva's own code or this machine that failed
            self.put(encode({"n": 0, "begun": True}))

    def serve_loop(self, first: dict[str, Any] | None) -> None:
        """Serve an asynchronous agent, always on this loop, which runs on between the calls."""
        import asyncio

        self.loop = loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        self.post = lambda request: loop.call_soon(self.begin, request)
        self.begin_listening(first)
        while True:
            loop.run_forever()

    def take(self, frames: FrameReader) -> None:
        requests = frames.read()
        if requests is None:  # Viva is gone, which the supervisor knows too
            self.loop.remove_reader(frames.descriptor)
            return
        for request in requests:
            self.begin(request)

    def begin(self, request: dict[str, Any]) -> None:
        if self.task is not None and not self.task.done():
            self.task.cancel()  # Viva no longer waits for it
        self.task = self.loop.create_task(self.answer_on_loop(request))

    async def answer_on_loop(self, request: dict[str, Any]) -> None:
        try:
            result = getattr(self, request["do"])(request)
            if inspect.isawaitable(result):
                result = await self.guarded(result)
            frame = self.frame(request, result)
        except BaseException as error:  # its sys.exit() must not end the loop
            frame = self.failure(request, error)
        self.put(frame)

    @staticmethod
    async def guarded(work: Any) -> Any:
        try:
            return await work
        except Exception:
            raise
        except BaseException as error:
            cancelled = type(error).__name__ == "CancelledError"
            words = "it cancelled its own task" if cancelled else in_short(error)
            raise RuntimeError(words) from error

    def begin_run(self, request: dict[str, Any]) -> Any:
        forks.change_environment(request)

    def make(self, request: dict[str, Any]) -> Any:
        given = offered(request)
        self.agent = frameworks.adopted(
            self.factory(**rules.arguments(self.factory, given, request.get("settings"))), given
        )
        rules.check_agent(self.agent, stand_ins.VirtualUser)
        self.verbose = rules.takes_verbose(self.agent.get_reply_from_agent)
        folder = rules.workspace(self.agent, given["workspace"], self.tell)
        tells = callable(getattr(self.agent, "reply_so_far", None))
        return {"workspace": folder, "stateful": offers_state(self.agent), "tells": tells}

    @staticmethod
    def tell(agent: Any, workspace: Any) -> None:
        agent.workspace = workspace

    def reply(self, request: dict[str, Any]) -> Any:
        keywords = {"verbose": request["verbose"]} if self.verbose else {}
        return self.agent.get_reply_from_agent(request["message"], **keywords)

    def reply_so_far(self, request: dict[str, Any]) -> Any:
        return self.agent.reply_so_far()

    def save_state(self, request: dict[str, Any]) -> Any:
        return self.agent.save_state()

    def load_state(self, request: dict[str, Any]) -> Any:
        load = getattr(self.agent, "load_state", None)
        if not callable(load):
            raise NotImplementedError
        return load(_loads(request["state"]))

    def load_conversation(self, request: dict[str, Any]) -> Any:
        load = getattr(self.agent, "load_conversation", None)
        if not callable(load):
            raise NotImplementedError
        return load(_loads(request["messages"]))

    def close(self, request: dict[str, Any]) -> Any:
        close = getattr(self.agent, "close", None)
        return None if close is None else close()

    def frame(self, request: dict[str, Any], result: Any) -> bytes:
        if request["do"] == "reply" or (request["do"] == "reply_so_far" and result is not None):
            body = encode_reply(request["n"], result)
        elif request["do"] == "save_state":
            body = encode({"state": None if result is None else state_text(result), "n": request["n"]})
        else:
            body = encode({**(result if request["do"] == "make" else {}), "n": request["n"]})
        if len(body) > LIMIT:
            size = f"{len(body):,}"
            body = encode({"n": request["n"], "words": f"its reply of {size} bytes exceeds the limit of {LIMIT:,}"})
        return body

    def failure(self, request: dict[str, Any], error: BaseException) -> bytes:
        if isinstance(error, rules.Setup):
            return encode({"n": request["n"], "setup": error.facts})
        if isinstance(error, UnfitState):
            return encode({"n": request["n"], "words": str(error)})
        if isinstance(error, NotImplementedError) and request["do"] in MAY_BE_MISSING:
            return encode({"n": request["n"], "offered": False})
        name, words = type(error).__name__, text_of(error)
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            name, words = "RuntimeError", in_short(error)
        at = None if self.home is None else raised_at(error, self.home)
        return encode({"n": request["n"], "error": name, "text": words, "at": at})

    def send(self, request: dict[str, Any], **answer: Any) -> None:
        self.put(encode({**answer, "n": request["n"]}))

    def put(self, frame: bytes) -> None:
        if _getpid() != self.me:
            _exit(0)  # a fork of the agent returned here, and only the agent itself answers
        try:
            with self.sending:
                send(self.descriptor, frame)
        except OSError:
            _exit(1)  # the agent has closed the connection


def noted_output() -> tuple[Noted | None, Noted | None]:
    """Begin to keep what is printed; return the files that do so."""
    found = []
    for stream in (sys.stdout, sys.stderr):
        file: Any = getattr(stream, "buffer", None)
        file = getattr(file, "raw", file)
        found.append(file if isinstance(file, Noted) else None)
        if found[-1] is not None:
            found[-1].kept = bytearray()
    return found[0], found[1]


def end_notes(files: tuple[Noted | None, Noted | None]) -> tuple[bytes, bytes]:
    """Return what was printed since `noted_output`, and keep no more."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the agent's own stream
            stream.flush()
    texts = []
    for file in files:
        texts.append(b"" if file is None or file.kept is None else bytes(file.kept))
        if file is not None:
            file.kept = None
    return texts[0], texts[1]
