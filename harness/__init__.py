"""Runs exams: one, many, again; keeps what happened, and reports it. The `viva` command is its face."""
