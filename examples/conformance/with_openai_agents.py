"""An agent of the OpenAI Agents SDK: `pytest --viva-conformance with_openai_agents.py:made@VENV`."""

from agent import Model
from agents import Agent, ModelResponse, Usage, set_tracing_disabled
from agents import Model as SdkModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Playing(SdkModel):
    def __init__(self, model):
        self.model = model

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 (the SDK's name)
        said = [input] if isinstance(input, str) else [each["content"] for each in input if each.get("role") == "user"]
        text = ResponseOutputText(text=self.model.answer(said), type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="message", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def made(workspace):
    return Agent("player", model=Playing(Model("", workspace=workspace)))
