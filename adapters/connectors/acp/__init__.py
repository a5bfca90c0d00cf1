"""Connects to agents that speak the Agent Client Protocol over their stdin and stdout: `acp:COMMAND`."""
