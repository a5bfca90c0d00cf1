"""Counts with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`; an `s` makes the plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
