"""Processes of agents are started here as users start them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.warm.interpreters import fresh_interpreters


@pytest.fixture(autouse=True)
def fresh_processes() -> Iterator[None]:
    """Start each interpreter anew."""
    with fresh_interpreters():
        yield
