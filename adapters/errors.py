"""What can go wrong at the doors, and whose fault it is."""

from __future__ import annotations


class SetupError(Exception):
    """The user must change something before an exam can begin: a SPEC, a key, a file. Says what and how."""


class AgentError(Exception):
    """The agent under test failed: counts against it."""


class AgentTimeout(AgentError):
    """The agent did not reply within its time limit."""


class ModelError(Exception):
    """A model's provider failed after retries, or refused. Says nothing about the agent, unless it is the agent's."""


class ModelAnswerError(Exception):
    """The provider answered, but with nothing usable: empty, cut short, or not what was asked for."""


class SchemaError(ModelAnswerError):
    """The answer does not fit the schema that it was asked for: a provider that takes one may still ignore it."""


class ProtocolError(Exception):
    """A response came, and it is not the chat protocol: an error page, a stream that nobody asked for. May pass."""
