"""Finds the round after which a conversation no longer succeeds, from the results of forks. Pure functions."""
