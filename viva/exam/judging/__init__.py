"""Builds what judging requires: evaluators, sandbox and models; refuses what could not judge."""
