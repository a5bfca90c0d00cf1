"""The connector to agents that run in their own process, in any Python environment."""
