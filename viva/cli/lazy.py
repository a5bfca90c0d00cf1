"""Imports the modules of commands when they are called."""

from __future__ import annotations

import gc
import importlib
import sys
from typing import Any


def imported(name: str) -> Any:
    """Import a module without searching for garbage, which would take a tenth of the time of a short command."""
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()  # what was imported stays
        gc.enable()
