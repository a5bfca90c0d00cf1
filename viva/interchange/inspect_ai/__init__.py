"""Datasets of Inspect AI, and the samples of its logs."""
