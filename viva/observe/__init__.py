"""Observes agents that run elsewhere: a session's events become a record, an insight, and a line for every sink."""
