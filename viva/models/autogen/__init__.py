"""AutoGen's model clients and agent behind Viva's Protocol: the only folder that imports AutoGen.

Importing this package loads none of it; its modules do.
"""

PACKAGES = ("autogen-agentchat", "openai")
"""The distributions whose versions can affect a run."""
