"""Suites that end when a decision is made: the batches of their trials, and what was decided."""
