"""An agent behind a JSON API of any kind, which an agent file with `api: json` describes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from viva.adapters.connectors.http.endpoint import Endpoint, EndpointAnswer, EndpointRequest, beginning_of
from viva.adapters.connectors.http.json_answers import ReadAnswer, fits, has_ended, read_answer
from viva.adapters.connectors.http.json_keys import EventKeys, OpeningKeys, ReplyKeys, RequestKeys, sends
from viva.adapters.connectors.http.templates import TemplateMistake, filled, filled_path
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, SetupError
from viva.records.bounded_json import LARGE, UnfitJson, parse
from viva.records.transcript import Reply


@dataclass(frozen=True, slots=True)
class JsonApi:
    """How an API is asked, and what its answers hold."""

    url: str
    request: RequestKeys
    reply: ReplyKeys
    events: EventKeys | None = None
    open: OpeningKeys | None = None
    close: RequestKeys | None = None

    @property
    def gives_session_id(self) -> bool:
        """Return whether the server makes the session's id; otherwise Viva does."""
        return self.reply.session_id is not None or (self.open is not None and self.open.session_id is not None)

    @property
    def sends_history(self) -> bool:
        """Return whether each request holds all of the conversation, so that the server need not keep anything."""
        return self.open is None and sends(self.request, "history", "messages")


class JsonAgent(VirtualUser):
    """Sends each message as the agent file says, and reads the reply by its paths."""

    api: ClassVar[JsonApi]
    headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Headers of each request, with the key."""

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(task_description, app_dir, config_var)
        end = None if self.api.events is None else self.api.events.end
        self._endpoint = Endpoint(None if end is None else partial(has_ended, end=end))
        self._session_id = None if self.api.gives_session_id else str(uuid.uuid4())
        self._opened = self.api.open is None
        self._history: list[dict[str, str]] = []
        self._round = 0
        try:  # what only `config_var` lacks is known before the first message
            for request in filter(None, (self.api.open, self.api.request, self.api.close)):
                self._filled(request, "", session_id=self._session_id or "id")
        except TemplateMistake as error:
            raise SetupError(f"a request to the agent cannot be made: {error}.") from error

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message; before the first one, open the session.

        Raises:
            AgentError: the server failed, or its answer is not as the agent file says.
        """
        if not self._opened:
            await self._open()
        self._round += 1
        sent = self._filled(self.api.request, message)
        answer = await self._send(sent, repeatable=self.api.sends_history)
        read = partial(read_answer, answer.body, answer.content_type, self.api.reply, self.api.events, self._round)
        found: ReadAnswer = read() if len(answer.body) <= LARGE else await asyncio.to_thread(read)
        if not found.text and not found.steps:
            raise AgentError("the agent's answer is empty")
        self._session_id = self._session_id or found.session_id
        self._history += [{"role": "user", "content": message}, {"role": "assistant", "content": found.text}]
        usage = replace(found.usage, retries=answer.retries) if answer.retries else found.usage
        return Reply(found.text, tuple(found.steps), usage)

    async def _open(self) -> None:
        keys = self.api.open
        assert keys is not None
        answer = await self._send(self._filled(keys, ""), repeatable=False)
        if keys.session_id is not None:
            try:
                whole = await parse(answer.body)
            except UnfitJson as error:
                words = f"{error}: {beginning_of(answer.body)!r}"
                raise AgentError(f"the answer that opens the session cannot be read: {words}") from error
            self._session_id = str(fits(whole, keys.session_id, "open.session_id"))
        self._opened = True

    async def _send(self, request: EndpointRequest, *, repeatable: bool) -> EndpointAnswer:
        self._viva_fault = None

        def retried(fault: AgentError | None) -> None:
            self._viva_fault = fault

        return await self._endpoint.send(request, repeatable=repeatable, retried=retried)

    def _filled(self, keys: RequestKeys, message: str, session_id: str | None = None) -> EndpointRequest:
        asked = {"role": "user", "content": message}
        values = {
            "message": message,
            "history": list(self._history),
            "messages": [*self._history, asked],
            "round": self._round,
            "session_id": session_id or self._session_id,
            "task_description": self.task_description,
            "app_dir": self.app_dir,
            "config_var": dict(self.config_var or {}),
        }
        headers = {name: str(filled(text, values)) for name, text in keys.headers.items()}
        if wrong := [name for name, text in headers.items() if not text.isprintable() or not text.isascii()]:
            raise AgentError(f"the header {wrong[0]} cannot hold what its template makes: it is not one line of ASCII")
        return EndpointRequest(
            keys.method,
            self.api.url.rstrip("/") + filled_path(keys.path, values),
            {**self.headers, **headers},
            None if keys.body is None else filled(keys.body, values),
        )

    def save_state(self) -> dict[str, Any] | None:
        """Return the history, if it is all that the server knows of the conversation; otherwise None."""
        return {"history": list(self._history), "round": self._round} if self.api.sends_history else None

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a stored history."""
        if not self.api.sends_history:
            raise NotImplementedError("the state of the conversation is on the agent's server")
        self._history, self._round = list(state["history"]), state["round"]

    async def close(self) -> None:
        """Close the session, if the agent file says how, and the connections."""
        try:
            if self.api.close is not None and (self._round or self.api.open is not None) and self._opened:
                await self._send(self._filled(self.api.close, ""), repeatable=True)
        except TemplateMistake:  # no session was opened that has an id
            pass
        finally:
            await self._endpoint.close()
