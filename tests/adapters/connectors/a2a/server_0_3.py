"""A real A2A server of version 0.3 of the SDK, which plays what it is told to, run by the environment `a2a_0_3`."""

# mypy: ignore-errors
from __future__ import annotations

import asyncio
import base64
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentSkill,
    DataPart,
    FilePart,
    FileWithBytes,
    Part,
    TaskState,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task

SAID: dict[str, list[str]] = {}


def text_part(words):
    return Part(root=TextPart(text=words))


class Player(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        heard = SAID.setdefault(context.context_id, [])
        heard.append(text)
        word, _, rest = text.partition(" ")
        if word == "say":
            await event_queue.enqueue_event(new_agent_text_message(f"{rest} ({len(heard)})", context.context_id))
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        note = lambda words: new_agent_text_message(words, task.context_id, task.id)  # noqa: E731
        if word == "ask":
            await updater.update_status(TaskState.input_required, note(f"Which {rest}?"), final=True)
        elif word == "fail":
            await updater.failed(note(rest))
        elif word == "reject":
            await updater.reject(note(rest))
        elif word == "auth":
            await updater.update_status(TaskState.auth_required, note(rest), final=True)
        elif word == "file":
            content = base64.b64encode(b"a,b\n1,2\n").decode()
            file = FilePart(file=FileWithBytes(bytes=content, name=rest, mime_type="text/csv"))
            await updater.add_artifact([Part(root=file)])
            await updater.add_artifact([Part(root=DataPart(data={"rows": 1.0}))])
            await updater.update_status(TaskState.completed, note("Here it is."), final=True)
        elif word == "slow":
            await updater.update_status(TaskState.working, note("I think."))
            await asyncio.sleep(0.5)
            await updater.update_status(TaskState.working, note("I still think."))
            await updater.add_artifact([text_part("Done "), text_part("at last.")])
            await updater.complete()
        else:
            words = f"{' | '.join(heard)} in one task: {task.id in SAID}"
            await updater.update_status(TaskState.completed, note(words), final=True)
        SAID.setdefault(task.id, [])

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def main(streaming: bool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    card = AgentCard(
        name="Player",
        description="Plays.",
        version="1",
        url=f"http://localhost:{port}/",
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="play", name="Play", description="Plays.", tags=["play"])],
    )
    handler = DefaultRequestHandler(agent_executor=Player(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    print(f"http://127.0.0.1:{port}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1] == "stream")
