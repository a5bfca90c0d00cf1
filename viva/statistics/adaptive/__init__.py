"""Decisions about scores while trials are still being added: what to try next, when to stop, and what is then known."""
