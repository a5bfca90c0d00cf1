"""An agent that works with the MCP servers of its exam: a model calls their tools until it has an answer.

It needs `pip install mcp openai`, and the usual environment variables: OPENAI_API_KEY, and OPENAI_BASE_URL and
OPENAI_MODEL where they differ from OpenAI's own.
"""

import json
import os
from contextlib import AsyncExitStack

from mcp import Client
from openai import AsyncOpenAI

MOST_TURNS = 20


class DeskAgent:
    """Keeps one conversation with the model, and connects to the servers in each of its turns."""

    def __init__(self, task_description, app_dir=None, config_var=None):
        self.servers = config_var["mcp_servers"]
        self.model = AsyncOpenAI()
        self.talk = []

    async def get_reply_from_agent(self, message):
        self.talk.append({"role": "user", "content": message})
        async with AsyncExitStack() as stack:
            clients, tools = await self.connect(stack)
            for _ in range(MOST_TURNS):
                answer = await self.model.chat.completions.create(
                    model=os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"), messages=self.talk, tools=tools
                )
                said = answer.choices[0].message
                self.talk.append(said.model_dump(exclude_none=True))
                if not said.tool_calls:
                    return said.content
                for call in said.tool_calls:
                    result = await clients[call.function.name].call_tool(
                        call.function.name, json.loads(call.function.arguments or "{}")
                    )
                    words = "\n".join(part.text for part in result.content if part.type == "text")
                    self.talk.append({"role": "tool", "tool_call_id": call.id, "content": words})
        return "I could not finish this."

    async def connect(self, stack):
        clients, tools = {}, []
        for server in self.servers:
            client = await stack.enter_async_context(Client(server["url"]))
            for tool in (await client.list_tools()).tools:
                clients[tool.name] = client
                function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
                tools.append({"type": "function", "function": function})
        return clients, tools

    async def close(self):
        await self.model.close()
