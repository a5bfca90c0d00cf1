"""An agent of AutoGen that plays the part: `pytest --viva-conformance with_autogen.py:made@VENV`."""

from agent import Model
from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import CreateResult, RequestUsage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient


class Client(ReplayChatCompletionClient):
    model = None

    async def create(self, messages, **_):
        text = self.model.answer([each.content for each in messages if isinstance(each, UserMessage)])
        return CreateResult(finish_reason="stop", content=text, usage=RequestUsage(0, 0), cached=False)


def made(workspace):
    client = Client([])
    client.model = Model("", workspace=workspace)
    return AssistantAgent("player", client)
