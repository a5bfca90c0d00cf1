"""Runs suites on a Ray cluster. Only `cluster` imports Ray; everything else is plain Python."""
