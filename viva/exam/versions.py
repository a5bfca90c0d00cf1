"""Reads the versions of the packages that can affect a run."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

from viva.models.autogen import PACKAGES


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of packages, by name."""
    found = {"python": platform.python_version()}
    for name in (*PACKAGES, "docker"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
