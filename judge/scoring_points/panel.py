"""The models that judge scoring points, and how often each of them votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viva.models.model import Model


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """Who votes, and how often."""

    models: Sequence[Model] = ()
    votes: int = 1
    """Maximum number of votes of each model on one scoring point."""


NO_PANEL = JudgePanel()


def jury_name(models: Iterable[str]) -> str:
    """Return the name under which models judge together: that of one is its own."""
    return " + ".join(models)
