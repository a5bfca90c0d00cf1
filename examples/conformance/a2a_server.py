"""The same behind A2A, with the protocol's own SDK: `python a2a_server.py` prints its SPEC.

It requires `pip install "a2a-sdk[http-server]" uvicorn`.
"""

import asyncio
import socket
import sys

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

WORDS = "echo unicode note recall empty size wait hang exception flood"
SAID = {}


class Player(AgentExecutor):
    async def execute(self, context, event_queue):
        word, _, rest = context.get_user_input().removeprefix("conformance: ").partition(" ")
        message = new_text_message(await self.reply(word, rest, SAID.setdefault(context.context_id, [])))
        message.context_id = context.context_id
        await event_queue.enqueue_event(message)

    async def reply(self, word, rest, noted):
        if word in ("wait", "hang"):
            await asyncio.sleep(float(rest or 600))
        if word == "note":
            noted.append(rest)
        if word == "exception":
            raise ValueError(rest)
        if word == "flood":
            await asyncio.to_thread(sys.stderr.write, "flood " * 3_400_000)
        replies = {"hello": f"conformance: ready {WORDS}", "echo": rest, "note": "noted", "recall": " ".join(noted)}
        replies |= {"empty": "", "wait": "waited", "flood": "flooded"}
        return "x" * int(rest) if word == "size" else replies[word]

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0), backlog=200)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="Player",
        description="Plays the conformance part.",
        version="1",
        supported_interfaces=[AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url=f"{url}/")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="play", name="Play", description="Plays the part.", tags=["conformance"])],
    )
    routes = create_jsonrpc_routes(DefaultRequestHandler(Player(), InMemoryTaskStore(), card), "/")
    app = Starlette(routes=[*create_agent_card_routes(card), *routes])
    print(f"a2a:{url}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
