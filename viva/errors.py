"""Exceptions about agents, recordings and models, by what caused the failure."""

from __future__ import annotations


class SetupError(Exception):
    """The user must change something before an exam can begin: a SPEC, a key, a file. The message says what and how."""


class WorkspaceError(SetupError):
    """The folder of a run cannot be made or filled, because of the disk and not because of the agent."""


class MachineError(SetupError):
    """This machine lacks disk space, memory or file descriptors for a run, which is not the agent's fault."""


class DescriptorsGone(MachineError):
    """Viva's own process can open no more files; an agent that runs there may be the one that took them."""


class SharedSetupError(SetupError):
    """A mistake that a first run reveals and that would affect all other runs, so no run is spent on it."""


class PlanError(SharedSetupError):
    """A mistake in the command itself that only its beginning reveals: the name or key of a model, a baseline.

    A new journal in which nothing was said yet is removed. If it is the agent that cannot be examined, the journal is
    kept, and can be resumed once the agent is repaired.
    """


class AgentError(Exception):
    """The agent under test failed, which counts against it."""

    def __init__(self, words: str = "", *, unavailable: bool = False) -> None:
        super().__init__(words)
        self.unavailable = unavailable
        """Whether the agent could not be reached: its address, its key or its model's name may be wrong."""
        self.so_far: object = None
        """The `Reply` with what the agent did before it failed, without an answer; None if that is not known."""


class AgentTimeout(AgentError):
    """The agent did not reply within its time limit."""


class ModelError(Exception):
    """A model's provider failed after retries, or refused. It counts against the agent only if it is the agent's."""


class ModelAnswerError(Exception):
    """The provider's answer is not usable: it is empty, incomplete, or does not have the requested form."""


class CutOffError(ModelAnswerError):
    """The answer reached the maximum number of output tokens before it was complete."""

    hint = "--max-output-tokens sets another limit"
    """What the user can do."""


class WithheldError(ModelAnswerError):
    """The provider or its model refused to answer: another request, or another model, may be answered."""


class SchemaError(ModelAnswerError):
    """The answer does not match the requested schema: a provider may accept a schema and still ignore it."""


class ProtocolError(Exception):
    """The response does not follow the chat protocol (an error page, an unrequested stream). It may be temporary."""
