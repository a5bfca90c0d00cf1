"""The connector to agents that run in a process of their own, in any Python environment."""
