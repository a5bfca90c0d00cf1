"""Warnings of the packages below that a user of Viva can do nothing about, told apart by their text."""

from __future__ import annotations

import warnings

SILENCED = (
    # AutoGen: a provider that resolves `gpt-x` to a dated name is no news to the user.
    "Resolved model mismatch",
    # AutoGen dumps each answer for its log, and pydantic warns of the openai package's generic type and of odd bodies.
    "Pydantic serializer warnings",
)
"""Patterns of texts of UserWarnings; without colons, which part the fields of pytest's filters."""


def silence() -> None:
    """For this process. pytest forgets it after each test, and has to be told by `filters_for_pytest`."""
    for text in SILENCED:
        warnings.filterwarnings("ignore", message=text, category=UserWarning)


def filters_for_pytest() -> list[str]:
    """Write it as pytest's `filterwarnings` takes it."""
    return [f"ignore:{text}:UserWarning" for text in SILENCED]
