"""What tests of all rooms share: parts that a machine may lack, and whether it may."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def require(name: str, present: object, reason: str) -> None:
    """Skip the test where a part is not there; fail it where `VIVA_REQUIRE` (a comma list) says that it must be."""
    if not present:
        missing(name, reason)


def missing(name: str, reason: str) -> NoReturn:
    """What `require` does where the part is not there."""
    if name in os.environ.get("VIVA_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(f"{name}: {reason}")
