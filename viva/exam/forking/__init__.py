"""Keeps the states of agents, and continues stored conversations from the middle."""
