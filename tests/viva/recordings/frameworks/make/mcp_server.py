"""Serves the tools of the script by MCP over standard input and output, with its own spans in the client's traces."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from openinference.instrumentation.mcp import MCPInstrumentor
from opentelemetry import trace

from tests.viva.recordings.frameworks.make.script import convert, get_weather
from tests.viva.recordings.frameworks.make.spans_file import provider

trace.set_tracer_provider(provider(Path(sys.argv[1])))
MCPInstrumentor().instrument()
server = MCPServer("world")


@server.tool(name="get_weather")
def weather(city: str) -> str:
    """Tell the weather of a city."""
    try:
        return get_weather(city)
    except ValueError as error:
        raise ToolError(str(error)) from error


server.tool()(convert)
server.run()
