"""Reads the versions of Viva and of the packages that can affect a run."""

from __future__ import annotations

import os
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


@cache
def viva_version() -> str:
    """Return Viva's own version."""
    try:
        return metadata.version("vivavoce")
    except metadata.PackageNotFoundError:
        return os.environ.get("VIVA_VERSION", "unknown")
