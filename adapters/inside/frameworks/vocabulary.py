"""The types of a reply: Viva's own in its process, the stand-ins in an agent's own process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING or not __name__.startswith("viva_inside."):
    from viva.records.transcript import Reply, Step, StepKind, Usage
else:
    from ..stand_ins import Reply, Step, StepKind, Usage

__all__ = ["Reply", "Step", "StepKind", "Usage"]
