"""A real A2A server of version 1 of the SDK, which plays what it is told to; it is run by the environment `a2a`."""

# mypy: ignore-errors
from __future__ import annotations

import asyncio
import socket
import sys

import uvicorn
from a2a.helpers import new_data_part, new_raw_part, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

SAID: dict[str, list[str]] = {}


class Player(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        heard = SAID.setdefault(context.context_id, [])
        heard.append(text)
        word, _, rest = text.partition(" ")
        if word == "say":
            message = new_text_message(f"{rest} ({len(heard)})")
            message.context_id = context.context_id
            await event_queue.enqueue_event(message)
            return
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        note = lambda words: updater.new_agent_message([new_text_part(words)])  # noqa: E731
        if word == "ask":
            await updater.requires_input(note(f"Which {rest}?"))
        elif word == "fail":
            await updater.failed(note(rest))
        elif word == "reject":
            await updater.reject(note(rest))
        elif word == "auth":
            await updater.requires_auth(note(rest))
        elif word == "file":
            await updater.add_artifact([new_raw_part(b"a,b\n1,2\n", filename=rest, media_type="text/csv")])
            await updater.add_artifact([new_data_part({"rows": 1.0})])
            await updater.complete(note("Here it is."))
        elif word == "slow":
            await updater.start_work(note("I think."))
            await asyncio.sleep(0.5)
            await updater.start_work(note("I still think."))
            await updater.add_artifact([new_text_part("Done "), new_text_part("at last.")])
            await updater.complete()
        else:
            await updater.complete(note(f"{' | '.join(heard)} in one task: {task.id in SAID}"))
        SAID.setdefault(task.id, [])

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def main(streaming: bool, binding: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    url = f"http://0.0.0.0:{port}/"
    card = AgentCard(
        name="Player",
        description="Plays.",
        version="1",
        supported_interfaces=[AgentInterface(protocol_binding=binding, protocol_version="1.0", url=url)],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="play", name="Play", description="Plays.", tags=["play"])],
    )
    handler = DefaultRequestHandler(Player(), InMemoryTaskStore(), card)
    found = create_jsonrpc_routes(handler, "/") if binding == "JSONRPC" else create_rest_routes(handler)
    app = Starlette(routes=[*create_agent_card_routes(card), *found])
    print(f"http://127.0.0.1:{port}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1] == "stream", sys.argv[2] if len(sys.argv) > 2 else "JSONRPC")
