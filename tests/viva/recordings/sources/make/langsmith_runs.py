"""Makes `tests/viva/recordings/sources/recorded/langsmith.jsonl`: what LangSmith's client sends for a LangChain agent.

Run it with a Python that has `langchain` and `langchain-openai`: `python langsmith_runs.py OUT`. A run is sent twice,
when it begins and when it ends; the platform joins both by the run's id, as this script does.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from scripted_model import QUESTIONS, serve

ADDRESS, POSTED = serve()
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{ADDRESS}/v1"}

from langchain.agents import create_agent  # noqa: E402
from langchain_core.tools import ToolException, tool  # noqa: E402
from langchain_core.tracers.langchain import LangChainTracer  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langsmith import Client  # noqa: E402


def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    if city == "Atlantis":
        raise ToolException("no such city")
    return f"25 degrees in {city}"


weather = tool(get_weather)
weather.handle_tool_error = True

if __name__ == "__main__":
    client = Client(api_url=ADDRESS, api_key="none", auto_batch_tracing=False, info={})
    agent = create_agent(ChatOpenAI(model="gpt-4o"), [weather])
    for question in QUESTIONS:
        tracer = LangChainTracer(client=client, project_name="weather")
        agent.invoke({"messages": [("user", question)]}, config={"callbacks": [tracer]})
    client.flush()
    runs: dict[str, dict[str, Any]] = {}
    for _, path, body in POSTED:
        identity = str(body.get("id") or path.rpartition("/")[2])
        runs.setdefault(identity, {"id": identity}).update({k: v for k, v in body.items() if v is not None})
    for run in runs.values():
        run.get("extra", {}).pop("runtime", None)  # what it says of this machine
        run.pop("serialized", None)
    Path(sys.argv[1]).write_text("".join(json.dumps(run) + "\n" for run in runs.values()))
