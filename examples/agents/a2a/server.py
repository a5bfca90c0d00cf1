"""An agent that speaks A2A 1.0 and 0.3, with the protocol's SDK: it keeps a sum for each context.

It requires `pip install "a2a-sdk[http-server]" uvicorn`. `python server.py 8766` serves at that port until Ctrl-C.
"""

from __future__ import annotations

import re
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

SUMS: dict[str, int] = {}
"""The sum of each context, which is a conversation."""


class Adder(AgentExecutor):
    """Adds the numbers that it is told to."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message with a task that says what it does, and then the sum."""
        message = context.get_user_input()
        assert context.message is not None
        task = context.current_task or new_task_from_user_message(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        numbers = [int(number) for number in re.findall(r"add (-?\d+)", message)]
        if not numbers:
            await updater.requires_input(updater.new_agent_message([new_text_part("What shall I add?")]))
            return
        doing = f"I add {', '.join(map(str, numbers))}."
        await updater.start_work(updater.new_agent_message([new_text_part(doing)]))
        SUMS[task.context_id] = SUMS.get(task.context_id, 0) + sum(numbers)
        await updater.add_artifact([new_text_part(f"The sum is {SUMS[task.context_id]}.")], name="sum")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Refuse: nothing takes long enough."""
        raise NotImplementedError


def serve(port: int) -> None:
    """Serve both versions of the protocol until Ctrl-C."""
    url = f"http://127.0.0.1:{port}/"
    card = AgentCard(
        name="Adder",
        description="Keeps a sum.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url=url),
            AgentInterface(protocol_binding="JSONRPC", protocol_version="0.3", url=url),
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="add", name="Add", description="Adds numbers.", tags=["sum"])],
    )
    handler = DefaultRequestHandler(Adder(), InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8766)
