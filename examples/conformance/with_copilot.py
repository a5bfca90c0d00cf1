"""GitHub Copilot, by its SDK: `pytest --viva-isolate --viva-conformance with_copilot.py:session`."""

from agent import Model
from copilot import CopilotClient
from copilot.session import PermissionHandler
from model_over_http import serve


class Player(Model):
    # Copilot removes blanks and line breaks at the end of a message, and ends a turn without text as an error.
    words = Model.words.replace(" unicode", "").replace(" empty", "")


async def session(workspace):
    provider = {"type": "openai", "base_url": serve(Player("", workspace=workspace)), "api_key": "none"}
    async with CopilotClient(base_directory=f"{workspace}/.copilot") as client:
        yield await client.create_session(
            model="gpt-5",
            provider=provider,
            working_directory=str(workspace),
            available_tools=[],
            on_permission_request=PermissionHandler.approve_all,
        )
