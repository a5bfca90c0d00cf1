"""Connectors to the agents under test, readers of recordings, and clients of language models."""

from viva.adapters.virtual_user import VirtualUser
from viva.records.transcript import Reply, Step, StepKind, Usage

__all__ = ["Reply", "Step", "StepKind", "Usage", "VirtualUser"]
