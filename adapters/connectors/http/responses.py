"""An agent behind OpenAI's Responses API: `http(s)://host/v1/responses#model`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from viva.adapters.connectors.http.endpoint import Endpoint, EndpointRequest
from viva.adapters.connectors.http.event_streams import has_ended
from viva.adapters.connectors.http.responses_output import ResponseRead, read_response_body
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError
from viva.models.prices import price
from viva.records.bounded_json import LARGE
from viva.records.transcript import Reply

_UNKNOWN = re.compile(r"previous[_ ]response", re.IGNORECASE)
"""What errors say of servers that do not know the previous response."""


class ResponsesAgent(VirtualUser):
    """Refers to the previous response, or sends the history where the server does not store responses."""

    url: ClassVar[str] = ""
    model: ClassVar[str] = ""
    headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Headers of each request, with the key."""
    stream: ClassVar[bool] = False
    ignores_config_var: ClassVar[bool] = True

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(task_description, app_dir, config_var)
        self._endpoint = Endpoint(has_ended)
        self._history: list[dict[str, str]] = []
        self._previous: str | None = None
        """The id of the response to refer to; None if the history is sent."""
        self._stores = True
        self._round = 0

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message and return the response's text; calls, reasoning and searches become steps.

        Raises:
            AgentError: the endpoint failed after retries, refused, or its answer is empty.
        """
        self._round += 1
        asked = {"role": "user", "content": message}
        found, retries = await self._ask(asked)
        if found.refusal:
            raise AgentError(f"the agent's model refused: {found.refusal}")
        if found.status in ("failed", "cancelled"):
            raise AgentError(f"the agent's response {found.status}: {found.reason or 'without a reason'}")
        if not found.text and not found.steps:
            why = f": it is {found.status} ({found.reason})" if found.reason else ""
            raise AgentError(f"the answer of the agent's endpoint is empty{why}")
        # Kept as plain text: calls without their results would make the next request invalid.
        self._history += [asked, {"role": "assistant", "content": found.text or "(tool calls only)"}]
        self._previous = found.id if self._stores and found.stored and not found.waiting else None
        used = found.usage
        cost = price(self.model, used.input_tokens, used.output_tokens, used.cached_tokens) if used.reported else None
        return Reply(found.text, tuple(found.steps), replace(used, retries=retries, cost=cost))

    async def _ask(self, asked: Mapping[str, str]) -> tuple[ResponseRead, int]:
        if self._previous is not None:
            try:
                return await self._send({"input": [asked], "previous_response_id": self._previous})
            except AgentError as error:
                if error.unavailable or not _UNKNOWN.search(str(error)):
                    raise
                self._stores = False  # a server that has the field and keeps nothing
        return await self._send({"input": [*self._history, asked]})

    async def _send(self, body: Mapping[str, Any]) -> tuple[ResponseRead, int]:
        self._viva_fault = None

        def retried(fault: AgentError | None) -> None:
            self._viva_fault = fault

        async def read(content: bytes, content_type: str) -> ResponseRead:
            reading = partial(read_response_body, content, content_type, self.model, self._round)
            return reading() if len(content) <= LARGE else await asyncio.to_thread(reading)

        whole = {"model": self.model, **body, **({"stream": True} if self.stream else {})}
        request = EndpointRequest("POST", self.url, self.headers, whole)
        answer = await self._endpoint.send(request, repeatable=True, retried=retried, read=read)
        return answer.value, answer.retries

    def save_state(self) -> dict[str, Any]:
        """Return the history. The responses that the server stores are not part of it, as they may be gone by then."""
        return {"history": list(self._history), "round": self._round}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a stored history."""
        self._history, self._round, self._previous = list(state["history"]), state["round"], None

    def load_conversation(self, messages: Sequence[Mapping[str, str]]) -> None:
        """Continue from messages of which nobody was asked, a system message among them."""
        self._history = [dict(message) for message in messages]

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()
