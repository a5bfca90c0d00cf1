"""Clients and servers of MCP (`mcp.*`): https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/.

The SDK's client names the tool in the name of its span only, and says nothing of `gen_ai.*`.
"""

from __future__ import annotations

from dataclasses import replace

from viva.recordings.spans.conventions.convention import Convention, SpanContent

_METHOD, _CALL = "mcp.method.name", "tools/call"


def translate(content: SpanContent) -> SpanContent:
    """Return the span of a call of a tool as one of a tool; the other methods are left as they are."""
    attributes = content.attributes
    if attributes.get(_METHOD) != _CALL:
        return content
    named = attributes.get("mcp.tool.name") or content.name.partition(f"{_CALL} ")[2]
    read = {"gen_ai.operation.name": "execute_tool", **({"gen_ai.tool.name": named} if named else {})}
    return replace(content, attributes={**read, **attributes})


MCP = Convention("MCP", ("mcp.",), keys=frozenset({_METHOD}), translate=translate)
