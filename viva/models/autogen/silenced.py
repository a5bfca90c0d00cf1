"""Silences warnings of dependencies about which users of Viva can do nothing, by their text."""

from __future__ import annotations

import warnings

SILENCED = (
    # AutoGen warns if a provider resolves `gpt-x` to a dated name, which is not relevant to the user.
    "Resolved model mismatch",
    # AutoGen dumps each answer for its log, and pydantic warns of the openai package's generic type and of odd bodies.
    "Pydantic serializer warnings",
)
"""Patterns of the texts of UserWarnings, without colons, which separate the fields of pytest's filters."""


def silence() -> None:
    """Silence the warnings in this process. pytest resets this after each test, and requires `filters_for_pytest`."""
    for text in SILENCED:
        warnings.filterwarnings("ignore", message=text, category=UserWarning)


def filters_for_pytest() -> list[str]:
    """Return the filters in the form of pytest's `filterwarnings`."""
    return [f"ignore:{text}:UserWarning" for text in SILENCED]
