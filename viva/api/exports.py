"""Exports cases to other tools from Python."""

from __future__ import annotations

from viva.api.arguments import checked
from viva.interchange.exporting import export_cases as _export_cases

export_cases = checked(_export_cases)
