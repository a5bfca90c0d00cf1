"""`viva mcp`: tools with which a coding assistant checks cases, runs suites and reads journals."""
