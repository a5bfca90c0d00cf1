"""Judges a session of a desktop or browser agent by its steps and screenshots."""
