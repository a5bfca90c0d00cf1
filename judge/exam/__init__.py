"""Judges the examiner: whether an exam was fair to its agent, by code and, on request, by a model."""
