"""An agent of Pydantic AI that plays the part: `pytest --viva-conformance with_pydantic_ai.py:made@VENV`."""

from agent import Model
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


class Player(Model):
    # Pydantic AI asks a model that replies with the empty text again, and then ends the run.
    words = Model.words.replace(" empty", "")


def made(workspace):
    model = Player("", workspace=workspace)

    def answer(messages, _):
        parts = [part for message in messages for part in message.parts]
        said = [part.content for part in parts if part.part_kind == "user-prompt"]
        return ModelResponse(parts=[TextPart(model.answer(said))])

    return Agent(FunctionModel(answer), name="player")
