"""Datasets of pydantic-evals, which are imported and exported."""
