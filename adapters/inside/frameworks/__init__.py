"""Makes agents of frameworks examinable as they are: recognizes their objects by their classes, and wraps them.

It runs in Viva's process and in an agent's own one. It imports no framework: a framework whose object exists is there.
"""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from typing import Any

_WRAPPERS = {
    ("claude_agent_sdk", "ClaudeAgentOptions"): "claude_agent:ClaudeAgent",
    ("claude_agent_sdk", "ClaudeSDKClient"): "claude_agent:ClaudeAgent",
    ("copilot", "CopilotClient"): "copilot:CopilotAgent",
    ("copilot", "CopilotSession"): "copilot:CopilotAgent",
    ("taskweaver", "TaskWeaverApp"): "taskweaver:TaskWeaverAgent",
    ("langgraph", "Pregel"): "langchain:LangChainAgent",
    ("langgraph", "PregelProtocol"): "langchain:LangChainAgent",
    ("langgraph", "StateGraph"): "langchain:LangChainAgent",
    ("langchain_core", "Runnable"): "langchain:LangChainAgent",
    ("agents.agent", "AgentBase"): "openai_agents:OpenAIAgent",
    ("agents.agent", "Agent"): "openai_agents:OpenAIAgent",
    ("llama_index", "AgentWorkflow"): "llama_index:LlamaIndexAgent",
    ("llama_index", "BaseWorkflowAgent"): "llama_index:LlamaIndexAgent",
    ("autogen_agentchat", "ChatAgent"): "autogen:AutoGenAgent",
    ("autogen_agentchat", "BaseChatAgent"): "autogen:AutoGenAgent",
    ("autogen_agentchat", "Team"): "autogen:AutoGenAgent",
    ("autogen_agentchat", "BaseGroupChat"): "autogen:AutoGenAgent",
    ("pydantic_ai", "AbstractAgent"): "pydantic_ai:PydanticAIAgent",
    ("pydantic_ai", "Agent"): "pydantic_ai:PydanticAIAgent",
}
"""The module of a class, or its first part, and its name; to the module beside this one and the class that wraps it."""
KNOWN = (
    "AutoGen agents and teams, LangGraph graphs, LangChain runnables, LlamaIndex agents and agent workflows, agents of "
    "the OpenAI Agents SDK, Pydantic AI agents, options of the Claude Agent SDK, sessions of the Copilot SDK and "
    "TaskWeaver applications"
)
"""What is recognized, for messages."""


def wrapper_name(thing: Any) -> str | None:
    """Return the name of the wrapper for an object of a framework, or for a class of such objects; None for others."""
    return _name_for(thing if isinstance(thing, type) else type(thing))


@lru_cache(maxsize=256)
def _name_for(kind: type) -> str | None:
    if hasattr(kind, "get_reply_from_agent"):
        return None
    for base in kind.__mro__:
        module = str(getattr(base, "__module__", ""))
        found = _WRAPPERS.get((module.partition(".")[0], base.__name__)) or _WRAPPERS.get((module, base.__name__))
        if found is not None:
            return found
    return None


def adapter_of(thing: Any, *, shared: bool) -> Any:
    """Return a class of agents for an object of a framework; None if it is not one.

    Args:
        thing: Any object.
        shared: Whether all runs of this process get this object; it was made for one run if not.

    Raises:
        Setup: `needs`: the object cannot be examined as it is.
    """
    if isinstance(thing, type) or (name := wrapper_name(thing)) is None:
        return None
    module, _, own = name.partition(":")
    wrapper = getattr(importlib.import_module(f"{__name__}.{module}"), own)
    wrapper.check(thing)
    if shared:
        wrapper.check_shared(thing)
    return type(str(getattr(thing, "name", None) or type(thing).__name__), (wrapper,), {"target": thing})


def adopted(made: Any, given: dict[str, Any]) -> Any:
    """Return the agent for what a factory made: for an object of a framework its wrapper, otherwise the object itself.

    Args:
        made: What the factory returned.
        given: The arguments of an adapter.

    Raises:
        Setup: as in `adapter_of`.
    """
    adapter = adapter_of(made, shared=False)
    return made if adapter is None else adapter(**given)


def folder_of(agent: Any) -> Any:
    """Return the folder in which a framework's session works that an adapter of the user's keeps; None without one."""
    if "taskweaver" not in sys.modules:
        return None
    return importlib.import_module(f"{__name__}.taskweaver").folder_of_session(agent)
