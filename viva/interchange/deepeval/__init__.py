"""Goldens of DeepEval: single questions, and scenarios for a simulated user."""
