"""What can go wrong between Viva and agents, recordings and models, and whose fault it is."""

from __future__ import annotations


class SetupError(Exception):
    """The user must change something before an exam can begin: a SPEC, a key, a file. Says what and how."""


class WorkspaceError(SetupError):
    """The folder of a run cannot be made or filled: the disk, not the agent."""


class MachineError(SetupError):
    """This machine lacks room, memory or descriptors for a run: no fault of the agent's."""


class SharedSetupError(SetupError):
    """A mistake that shows in a first run and that every other would meet: no run is spent on it."""


class AgentError(Exception):
    """The agent under test failed: counts against it."""

    def __init__(self, words: str = "", *, unavailable: bool = False) -> None:
        super().__init__(words)
        self.unavailable = unavailable
        """Whether it could not even be reached: its address, its key or its model's name may be wrong."""


class AgentTimeout(AgentError):
    """The agent did not reply within its time limit."""


class ModelError(Exception):
    """A model's provider failed after retries, or refused. Says nothing about the agent, unless it is the agent's."""


class ModelAnswerError(Exception):
    """The provider answered, but with nothing usable: empty, cut short, or not what was asked for."""


class WithheldError(ModelAnswerError):
    """The provider or its model refused to answer: another request, or another model, may be answered."""


class SchemaError(ModelAnswerError):
    """The answer does not fit the schema that it was asked for: a provider that takes one may still ignore it."""


class ProtocolError(Exception):
    """A response came, and it is not the chat protocol: an error page, a stream that nobody asked for. May pass."""
