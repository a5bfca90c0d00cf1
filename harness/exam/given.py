"""Objects that stand for names of a work order: agents and evaluators that a Python program hands over as they are.

Jobs and work orders hold names alone, so that they can cross the border of a process. An object cannot, so it is given
to the engine of this process, beside the work order that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.connectors.loaded_agent import LoadedAgent


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What need not be looked up by its name; anything else is found as ever."""

    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """By the SPEC that the work order has."""
    evaluators: Mapping[str, object] = field(default_factory=dict)
    """By the name that the work order's options have: a class, a function that makes one, or an object."""


NOTHING = Given()
