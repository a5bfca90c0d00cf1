"""Measures judges on points whose right labels are known: labelled sets, and their judging by models."""
