"""Parses YAML files safely, and tells the line of everything in them."""
