"""Connectors to live agents: each turns an agent SPEC into a factory of agents."""
