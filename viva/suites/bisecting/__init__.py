"""Forks a failed conversation after one round after another, until the round that decided is known."""
