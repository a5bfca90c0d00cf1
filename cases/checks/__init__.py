"""Checks without code: what `check:` of a scoring point may ask for, as plain data, its reader, and its words."""
