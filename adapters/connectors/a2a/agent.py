"""An agent that speaks A2A 1.0 or 0.3, through the protocol's own SDK. This module loads the SDK."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from a2a.client import ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, Task, TaskState
from a2a.utils.constants import TransportProtocol

from viva.adapters.connectors.a2a.card import keep_to_host, read_card
from viva.adapters.connectors.a2a.client import A2aHttp
from viva.adapters.connectors.a2a.parts import Artifacts, Parts
from viva.adapters.trace_context import current_traceparent
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, ModelAnswerError, ModelError, ProtocolError
from viva.models.retry import RetryPolicy, is_key_refused, is_unreachable, status_of, with_retries
from viva.records.redact import redact, redacted_line
from viva.records.transcript import Reply, Step, StepKind, Usage

WAITING = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED})
"""The states in which the agent waits for the user: what it said is its reply."""
FAILED = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_CANCELED: "was canceled",
    TaskState.TASK_STATE_AUTH_REQUIRED: "requires authentication",
}
"""The states of a task without a reply, in words."""
ENDED = frozenset({TaskState.TASK_STATE_COMPLETED, *WAITING, *FAILED})
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
"""Seconds between two questions about the state of a task that is still worked on."""
MOST_STEPS = 2_000
NOT_TAKEN = (429, 503)
"""The statuses with which a server says that it did not take a message."""


class _TaskLog:
    """What is known of one task."""

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.state: TaskState = TaskState.TASK_STATE_UNSPECIFIED
        self.said: Message | None = None
        self.artifacts = Artifacts()
        self._heard: set[str] = set()

    def update(self, status: Any) -> Message | None:
        """Note a status; return its message if it is a new one of a task that is still worked on."""
        self.state = status.state
        message: Message | None = status.message if status.HasField("message") else None
        if message is None or message.message_id in self._heard:
            return None
        self._heard.add(message.message_id)
        if status.state in ENDED:
            self.said = message
            return None
        return message


class A2aAgent(VirtualUser):
    """Sends each message to the agent in one context, and waits until its task ends or asks for input."""

    url: ClassVar[str] = ""
    headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Headers of each request, with the key."""
    card_path: ClassVar[str | None] = None
    endpoint: ClassVar[str | None] = None
    stream: ClassVar[bool] = True
    ignores_config_var: ClassVar[bool] = True

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(task_description, app_dir, config_var)
        # No time-out: the session's limit applies.
        self._http = A2aHttp(timeout=None, headers={"Accept-Encoding": "gzip", **self.headers})
        self._policy = RetryPolicy.from_environment()
        self._client: Any = None
        self._context_id = ""
        self._task: _TaskLog | None = None
        """The task of the present message."""
        self._round = self._retries = 0
        self._steps: list[Step] = []
        self._message: Message | None = None

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message and return what the agent says: in a message, or in its task's status and artifacts.

        Raises:
            AgentError: the agent cannot be reached, does not follow the protocol, or its task failed.
        """
        self._round += 1
        self._retries, self._steps, self._message, self._viva_fault = 0, [], None, None
        if (parent := current_traceparent()) is not None:
            self._http.headers["traceparent"] = parent
        if self._client is None:
            self._client = await self._reached(self._connect)
        goes_on = self._task is not None and self._task.state in WAITING
        task = self._task if goes_on else None
        self._task = task
        if task is not None:
            task.state, task.said = TaskState.TASK_STATE_UNSPECIFIED, None
        await self._exchange(message, task)
        return await self._reply()

    async def _connect(self) -> Any:
        card = await read_card(self._http, self.url, self.card_path)
        keep_to_host(card, self.url, self.endpoint)
        bindings = [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON]
        config = ClientConfig(
            streaming=self.stream,
            httpx_client=self._http,
            supported_protocol_bindings=[each.value for each in bindings],
        )
        return ClientFactory(config).create(card)

    async def _exchange(self, text: str, task: _TaskLog | None) -> None:
        """Send the message, and follow its task until it ends."""
        request = SendMessageRequest(
            message=Message(
                message_id=str(uuid.uuid4()),
                context_id=self._context_id,
                task_id="" if task is None else task.id,
                role=Role.ROLE_USER,
                parts=[Part(text=text)],
            )
        )

        async def send() -> None:
            try:
                async for event in self._client.send_message(request):
                    self._read(event)
            except Exception:
                # A stream that is cut says nothing about the task, which the agent goes on with.
                if self._task is None or self._task.state == TaskState.TASK_STATE_UNSPECIFIED:
                    raise

        await self._reached(send)
        wait = FIRST_WAIT
        while self._message is None and self._task is not None and self._task.state not in ENDED:
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, LONGEST_WAIT)
            self._read_task(await self._reached(self._look_at_task))

    async def _look_at_task(self) -> Task:
        assert self._task is not None
        found: Task = await self._client.get_task(GetTaskRequest(id=self._task.id))
        return found

    def _read(self, event: Any) -> None:
        match event.WhichOneof("payload"):
            case "task":
                self._read_task(event.task)
            case "message":
                self._message = event.message
                self._context_id = event.message.context_id or self._context_id
            case "status_update":
                self._read_status(event.status_update)
            case "artifact_update":
                update = event.artifact_update
                self._task_of(update).artifacts.add(update.artifact, append=update.append)

    def _read_task(self, task: Task) -> None:
        log = self._known(task.id, task.context_id)
        for artifact in task.artifacts:
            log.artifacts.add(artifact, append=False)
        self._hear(log.update(task.status))

    def _read_status(self, update: Any) -> None:
        self._hear(self._task_of(update).update(update.status))

    def _task_of(self, update: Any) -> _TaskLog:
        return self._known(update.task_id, update.context_id)

    def _known(self, identity: str, context: str) -> _TaskLog:
        self._context_id = context or self._context_id
        if self._task is None or self._task.id != identity:
            self._task = _TaskLog(identity)
        return self._task

    def _hear(self, message: Message | None) -> None:
        """Note what the agent says while it works as a step."""
        if message is not None and len(self._steps) < MOST_STEPS:
            said = Parts(None).text_of(message.parts)
            identity = f"m{self._round}.{len(self._steps) + 1}"
            self._steps.append(Step(identity, StepKind.THINK, thought=said, attributes={"a2a.task": message.task_id}))

    async def _reply(self) -> Reply:
        parts = Parts(self.workspace)
        task = self._task
        if self._message is not None:
            text = await asyncio.to_thread(parts.text_of, self._message.parts)
        elif task is None:
            raise AgentError(f"the agent answered with neither a message nor a task{self._answered()}")
        else:
            said = "" if task.said is None else await asyncio.to_thread(parts.text_of, task.said.parts)
            if task.state in FAILED:
                raise AgentError(
                    f"the agent's task {FAILED[task.state]}" + (f": {redacted_line(said, 1000)}" if said else "")
                )
            artifacts = task.artifacts
            shown = await asyncio.to_thread(lambda: [parts.text_of(each) for each in artifacts.take()])
            text = "\n\n".join(each for each in (said, *shown) if each)
        if not text and not self._steps:
            raise AgentError("the agent's reply is empty")
        return Reply(text, tuple(self._steps), Usage(retries=self._retries, reported=False))

    async def _reached(self, call: Any) -> Any:
        """Return what a call returns; one that did not reach the agent is made again."""

        async def attempt() -> Any:
            try:
                return await call()
            except (AgentError, ModelError, ModelAnswerError):
                raise
            except Exception as error:
                cause = error.__cause__ or error
                if isinstance(cause, ModelError | ModelAnswerError | ProtocolError):
                    raise ModelError(str(cause)) from error
                status = status_of(error) or status_of(cause)
                if status in NOT_TAKEN or (status is None and is_unreachable(error)):
                    raise _NotTaken(error) from error
                raise ModelError(_words(error)) from error

        def again(fault: BaseException) -> None:
            self._retries += 1
            self._viva_fault = self._failure(fault)
            self._http.sent = self._was_sent

        try:
            return await with_retries(attempt, self._policy, again)
        except (ModelError, ModelAnswerError) as error:
            raise self._failure(error.__cause__ if isinstance(error.__cause__, _NotTaken) else error) from error
        finally:
            self._http.sent = None

    def _was_sent(self) -> None:
        self._viva_fault = None

    def _failure(self, fault: BaseException) -> AgentError:
        cause = fault.__cause__ or fault
        hint = ""
        if is_key_refused(cause) or is_key_refused(cause.__cause__ or cause):
            hint = ". Name the variable with its key in an agent file (key_env), or set VIVA_AGENT_API_KEY"
        words = f"the agent at {redact(self.url)} failed: {redacted_line(str(fault), 400)}{self._answered()}{hint}"
        return AgentError(words, unavailable=is_unreachable(cause))

    def _answered(self) -> str:
        words = self._http.words()
        return f"; it answered: {words}" if words else ""

    async def reply_so_far(self) -> Reply:
        """Return what the agent said while it worked on a task that failed or took too long."""
        return Reply("", tuple(self._steps), Usage(retries=self._retries, reported=False))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class _NotTaken(ConnectionError):
    """The agent was not reached, or did not take the message, which can be sent again."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(_words(error))
        self.response = getattr(error.__cause__, "response", None)


def _words(error: BaseException) -> str:
    data = getattr(error, "data", None)
    return redacted_line(f"{error}{f' ({data})' if data else ''}" or type(error).__name__, 400)
