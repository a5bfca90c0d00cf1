"""An agent of the OpenAI Agents SDK that leaves files in its workspace, which its tools find in their context."""

from agents import Agent, RunContextWrapper, function_tool, set_default_openai_api, set_tracing_disabled

set_default_openai_api("chat_completions")  # for endpoints other than OpenAI's own
set_tracing_disabled(True)  # else the SDK sends a trace of each run to OpenAI


@function_tool
def write_file(context: RunContextWrapper[dict], name: str, text: str) -> str:
    """Write a text file."""
    (context.context["workspace"] / name).write_text(text)
    return f"{name} is written"


agent = Agent("writer", instructions="Do what the user asks.", tools=[write_file], model="gpt-5-mini")
