"""The agent's files as evidence: what its workspace holds at the end, compared with what it was given."""
