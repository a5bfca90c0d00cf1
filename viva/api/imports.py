"""Imports cases of other tools from Python."""

from __future__ import annotations

from viva.api.arguments import checked
from viva.interchange.importing import import_cases as _import_cases

import_cases = checked(_import_cases)
