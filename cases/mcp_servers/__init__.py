"""MCP servers that a case owns: their description, and the reader of the field `mcp`."""
