"""Rows of CSV, JSON and JSON Lines, and of the datasets of platforms."""
