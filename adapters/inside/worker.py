"""Runs in the agent's process: answers requests one after another, on the thread and event loop that the agent expects.

The main thread runs a plain agent, or the only event loop of an asynchronous one. A second thread listens to Viva, so
that a hung agent can still be closed.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import rules, stand_ins
from .agent import load, offered
from .raised import Home, home_of, in_short, raised_at, text_of
from .replies import encode, encode_reply
from .states import UnfitState, offers_state, state_text
from .wire import LIMIT, receive, send

_getpid, _exit, _loads = os.getpid, os._exit, json.loads


class AgentServer:
    """Serves `load`, `make`, `reply`, `save_state`, `load_state` and `close`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
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
        threading.Thread(target=self.listen, name="viva", daemon=True).start()
        request = self.requests.get()
        # From here on it is the agent's code that fails; before, it was Viva's, or this machine.
        self.put(encode({"n": 0, "begun": True}))
        importer = stand_ins.install(request["module"])
        try:
            self.module, self.factory = load(request["module"], request["name"])
        except rules.Setup as error:
            self.send(request, setup=error.facts)
            self.serve()
        self.home = home_of(request["module"], self.module)
        version = rules.version(self.module, self.factory)
        answer = {"version": version, "path": [entry or os.getcwd() for entry in sys.path], "prefix": sys.prefix}
        answer["old_import"] = importer.old_import
        answer["file"] = getattr(self.module, "__file__", None)
        if inspect.iscoroutinefunction(getattr(self.factory, "get_reply_from_agent", None)):
            self.serve_loop(request, answer)
        self.send(request, **answer)
        self.serve()

    def listen(self) -> None:
        while True:
            request = receive(self.descriptor)
            if request is None:
                return  # Viva is gone, which the supervisor knows too
            if request["do"] == "close" and self.busy and self.loop is None:
                self.answer(request)  # the main thread hangs: closing the agent from here may free it
            else:
                self.post(request)

    def serve(self) -> None:
        """Serve a plain agent, always on the main thread."""
        while True:
            request = self.requests.get()
            self.busy = True
            self.answer(request)

    def answer(self, request: dict[str, Any]) -> None:
        try:
            result = getattr(self, request["do"])(request)
            if inspect.isawaitable(result):
                result = self.awaited(result)
            frame = self.frame(request, result)
        except BaseException as error:
            frame = self.failure(request, error)
        self.busy = self.busy and request["do"] == "close"
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

    def serve_loop(self, loaded: dict[str, Any], answer: dict[str, Any]) -> None:
        """Serve an asynchronous agent, always on this loop, which runs on between the calls."""
        import asyncio

        self.loop = loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        self.post = lambda request: loop.call_soon_threadsafe(self.begin, request)
        self.send(loaded, **answer)
        while True:
            loop.run_forever()

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

    def make(self, request: dict[str, Any]) -> Any:
        given = offered(request)
        self.agent = self.factory(**rules.arguments(self.factory, given))
        rules.check_agent(self.agent, stand_ins.VirtualUser)
        self.verbose = rules.takes_verbose(self.agent.get_reply_from_agent)
        folder = rules.workspace(self.agent, given["workspace"], self.tell)
        return {"workspace": folder, "stateful": offers_state(self.agent)}

    @staticmethod
    def tell(agent: Any, workspace: Any) -> None:
        agent.workspace = workspace

    def reply(self, request: dict[str, Any]) -> Any:
        keywords = {"verbose": request["verbose"]} if self.verbose else {}
        return self.agent.get_reply_from_agent(request["message"], **keywords)

    def save_state(self, request: dict[str, Any]) -> Any:
        return self.agent.save_state()

    def load_state(self, request: dict[str, Any]) -> Any:
        return self.agent.load_state(_loads(request["state"]))

    def close(self, request: dict[str, Any]) -> Any:
        close = getattr(self.agent, "close", None)
        return None if close is None else close()

    def frame(self, request: dict[str, Any], result: Any) -> bytes:
        if request["do"] == "reply":
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
        if isinstance(error, NotImplementedError) and request["do"] in ("save_state", "load_state"):
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
