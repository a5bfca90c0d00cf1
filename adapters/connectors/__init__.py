"""Connectors to live agents: an agent SPEC becomes something that makes agents."""
