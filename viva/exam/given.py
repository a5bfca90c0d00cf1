"""Objects that replace names in a work order: agents and evaluators that a Python program passes directly.

Jobs and work orders hold only names, so that they can be sent to another process. Objects cannot be sent, so they are
passed to the engine of this process, next to the work order that names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.settings import read_settings, with_settings
from viva.adapters.connectors.varied_spec import split_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Objects that need not be looked up by name; all other names are looked up as usual."""

    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """The agents by their SPEC in the work order."""
    evaluators: Mapping[str, object] = field(default_factory=dict)
    """The evaluators by their name in the work order's options: a class, a function that makes one, or an evaluator."""

    def agent(self, spec: str) -> LoadedAgent | None:
        """Return the agent of a SPEC that may have settings; None if it must be looked up.

        Raises:
            SetupError: the file of a setting cannot be read.
        """
        found = self.agents.get(spec)
        if found is None and self.agents:
            varied = split_settings(spec)
            base = self.agents.get(varied.base)
            found = None if base is None else with_settings(base, spec, varied, read_settings(varied))
        return found


NOTHING = Given()
