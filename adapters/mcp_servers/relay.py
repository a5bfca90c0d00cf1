"""What an agent sees of an MCP server of the case: requests are passed on, and every call is recorded as a step."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.server.lowlevel import Server

from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers.upstream import ServerEndedError, Upstream
from viva.adapters.time_limits import time_limit
from viva.records.copies import changed
from viva.records.text import storable
from viva.records.transcript import Step, StepKind

T = TypeVar("T")

LIST_SECONDS = 30.0
SERVER = "mcp_server"
"""Attribute of a step: the name of the server."""
OVER = "the exam is over"
FULL = "this exam has recorded as many calls as it can; no further call is passed on"


class Relay:
    """Passes the requests of all clients of one run on to one server, and records them."""

    def __init__(self, upstream: Upstream, log: EnvironmentLog) -> None:
        self.upstream = upstream
        self.refused = 0
        """Number of calls that were not passed on, because the exam was over or its log full."""
        self.over = False
        self._log = log
        self._seconds = upstream.server.call_seconds

    async def listed(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Pass on a request that changes nothing."""
        try:
            client = await self.upstream.client(touch=False)
            async with time_limit(LIST_SECONDS):
                return await work(client)
        except (ServerEndedError, TimeoutError) as error:
            raise MCPError(types.INTERNAL_ERROR, str(error) or "the server did not answer") from error

    async def called(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Pass on a call of a tool. What goes wrong is the tool's error, as the agent sees it."""
        step = Step("", tool=name, tool_input=arguments)

        async def call(client: Client) -> tuple[types.CallToolResult, dict[str, Any]]:
            async with time_limit(self._seconds):
                result = await client.session.call_tool(name, arguments)
            words = result_words(result.content, result.structured_content)
            return result, {"error": words or "the tool failed"} if result.is_error else {"result": words}

        try:
            return await self._recorded(step, call)
        except (ServerEndedError, TimeoutError, RuntimeError) as error:
            return _failed(str(error))

    async def read(self, what: str, given: dict[str, Any], work: Callable[[Client], Awaitable[T]]) -> T:
        """Pass on a request for a resource or a prompt, which is recorded like a call."""
        step = Step("", StepKind.ACTION, tool=what, tool_input=given)

        async def call(client: Client) -> tuple[T, dict[str, Any]]:
            async with time_limit(self._seconds):
                result: Any = await work(client)
            return result, {"result": result.model_dump_json(by_alias=True, exclude_none=True)}

        try:
            return await self._recorded(step, call)
        except (ServerEndedError, TimeoutError, RuntimeError) as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    async def _recorded(self, step: Step, call: Callable[[Client], Awaitable[tuple[T, dict[str, Any]]]]) -> T:
        number = None if self.over else self._log.begin(_stamped(step, self.upstream.server.name))
        if number is None:
            self.refused += 1
            raise ServerEndedError(OVER if self.over else FULL)
        began = time.monotonic()
        outcome: dict[str, Any] = {"error": "the agent gave up on the call before it returned"}
        try:
            result, outcome = await call(await self.upstream.client(touch=True))
        except MCPError as error:
            words = error.message
            if error.code == types.CONNECTION_CLOSED:
                self.upstream.note_end(f"a call of {step.tool!r}"[:200])
                words = f"the MCP server {self.upstream.server.name!r} ended during the call"
            outcome = {"error": storable(words)}
            if error.code == types.CONNECTION_CLOSED:
                raise ServerEndedError(words) from error
            raise
        except TimeoutError as error:
            words = f"the call did not return within {self._seconds:g} s"
            outcome = {"error": words}
            raise ServerEndedError(words) from error
        except Exception as error:
            outcome = {"error": storable(str(error) or type(error).__name__)}
            raise
        finally:
            self._log.finish(number, seconds=time.monotonic() - began, **outcome)
        return result


def relay_server(relay: Relay, client: Client) -> Server[Any]:
    """Return the server that agents talk to: it offers what the case's server offers, under its name."""

    async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await relay.listed(lambda client: client.session.list_tools(params=_page(params)))

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await relay.called(params.name, params.arguments or {})

    async def list_resources(_: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return await relay.listed(lambda client: client.session.list_resources(params=_page(params)))

    async def list_templates(_: Any, params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return await relay.listed(lambda client: client.session.list_resource_templates(params=_page(params)))

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        given = {"uri": str(params.uri)}
        return await relay.read("resources/read", given, lambda client: client.session.read_resource(params.uri))

    async def list_prompts(_: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return await relay.listed(lambda client: client.session.list_prompts(params=_page(params)))

    async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = {"name": params.name, "arguments": params.arguments or {}}
        return await relay.read(
            "prompts/get", given, lambda client: client.session.get_prompt(params.name, params.arguments)
        )

    offered = client.server_capabilities
    handlers: dict[str, Any] = {}
    if offered.tools is not None:
        handlers |= {"on_list_tools": list_tools, "on_call_tool": call_tool}
    if offered.resources is not None:
        handlers |= {
            "on_list_resources": list_resources,
            "on_list_resource_templates": list_templates,
            "on_read_resource": read_resource,
        }
    if offered.prompts is not None:
        handlers |= {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}
    return Server(relay.upstream.server.name, version="1", instructions=client.instructions, **handlers)


def result_words(content: list[Any], structured: Any) -> str:
    """Return the result of a tool as text: its texts, or else its structured content; other parts are named."""
    parts = [part.text if isinstance(part, types.TextContent) else _named(part) for part in content]
    if not parts and structured is not None:
        return types.CallToolResult(content=[], structured_content=structured).model_dump_json(
            include={"structured_content"}
        )
    return "\n".join(parts)


def _named(part: Any) -> str:
    data = getattr(part, "data", None)
    size = f", {len(data):,} characters of base64" if isinstance(data, str) else ""
    return f"[{getattr(part, 'type', 'content')}: {getattr(part, 'mime_type', None) or getattr(part, 'uri', '')}{size}]"


def _stamped(step: Step, server: str) -> Step:
    return changed(step, started=time.time(), attributes={SERVER: server})


def _failed(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=True)


def _page(params: types.PaginatedRequestParams | None) -> types.PaginatedRequestParams:
    return types.PaginatedRequestParams(cursor=None if params is None else params.cursor)
