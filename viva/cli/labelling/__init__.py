"""Labelling scoring points in a terminal: keys, what is shown, and the course of a sitting."""
