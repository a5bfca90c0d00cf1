"""An agent of LangChain that plays the part: `pytest --viva-conformance with_langgraph.py:made@VENV`."""

from typing import Any

from agent import Model
from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel


class ChatModel(SimpleChatModel):
    model: Any

    @property
    def _llm_type(self):
        return "conformance"

    def _call(self, messages, *_, **__):
        return self.model.answer([each.content for each in messages if each.type == "human"])


def made(workspace):
    return create_agent(ChatModel(model=Model("", workspace=workspace)), [], name="player")
