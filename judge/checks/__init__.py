"""Evaluates checks without code: pure functions of a transcript, and of the one file of the workspace that is named."""
