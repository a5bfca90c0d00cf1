"""Filters of runs: a small language for expressions, and their evaluation over the records of a journal."""
