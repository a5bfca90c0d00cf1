"""Makes `tests/viva/recordings/sources/recorded/weave.jsonl`: the calls that Weave's client sends to its server.

Run it with a Python that has `weave` and `openai`: `python weave_calls.py OUT`. A call is sent when it begins and when
it ends; the server joins both by the id of the call, as this script does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ |= {"WEAVE_PRINT_CALL_LINK": "false", "WANDB_API_KEY": "0" * 40}

import openai
import weave
from scripted_model import QUESTIONS, serve
from weave.trace.context import weave_client_context
from weave.trace.weave_client import WeaveClient

ADDRESS, _ = serve()


class Server:
    """Takes the calls that the client sends, in place of W&B's server."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if "processor" in name:
            raise AttributeError(name)
        return lambda *given, **_: self._take(name, given[0] if given else None)

    def _take(self, name: str, given: Any) -> Any:
        part = {"call_start": "start", "call_end": "end"}.get(name)
        if part is not None:
            sent = given[part] if isinstance(given, dict) else getattr(given, part)
            sent = sent if isinstance(sent, dict) else sent.model_dump()
            told = {key: value for key, value in sent.items() if value is not None}
            self.calls.setdefault(sent["id"], {}).update(told)
            return SimpleNamespace(id=sent["id"], trace_id=sent.get("trace_id"))
        return SimpleNamespace(digest="0123456789", row_digests=[])


@weave.op(kind="tool")
def get_weather(city: str) -> str:
    """The tool."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"25 degrees in {city}"


@weave.op(kind="agent")
def weatherman(question: str) -> str:
    """The agent: it does what the model asks for, until that answers."""
    client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="none")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message
        if not answer.tool_calls:
            return str(answer.content)
        messages.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls:
            try:
                result = get_weather(**json.loads(call.function.arguments))
            except ValueError as error:
                result = str(error)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def plain(value: Any) -> str:
    """Return a time as Weave's API writes it."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


if __name__ == "__main__":
    server = Server()
    client = WeaveClient("somebody", "weather", server, ensure_project_exists=False)
    weave_client_context.set_weave_client_global(client)
    weave.integrations.patch_openai()
    for question in QUESTIONS:
        weatherman(question)
    client.flush()
    for call in server.calls.values():  # what they say of this machine
        call["attributes"]["weave"] = {"kind": call["attributes"]["weave"]["kind"]}
        if "exception" in call:
            call["exception"] = json.dumps({**json.loads(call["exception"]), "traceback": []})
    Path(sys.argv[1]).write_text("".join(json.dumps(call, default=plain) + "\n" for call in server.calls.values()))
