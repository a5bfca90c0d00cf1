"""Scoring points: how a case file states them, also as a tree, and what they require of each other."""
