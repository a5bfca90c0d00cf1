"""The MCP servers of a case: started fresh for each run, offered to the agent, and every call recorded."""
