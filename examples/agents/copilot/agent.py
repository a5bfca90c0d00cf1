"""GitHub Copilot by its SDK: a client and a session for each run, in the run's workspace.

With OPENAI_BASE_URL and OPENAI_API_KEY, Copilot uses that endpoint and needs no log-in to GitHub.
"""

import os

from copilot import CopilotClient
from copilot.session import PermissionHandler


async def session(workspace):
    provider = None
    if "OPENAI_BASE_URL" in os.environ:
        provider = {
            "type": "openai",
            "base_url": os.environ["OPENAI_BASE_URL"],
            "api_key": os.environ["OPENAI_API_KEY"],
        }
    async with CopilotClient() as client:
        yield await client.create_session(
            model=os.environ.get("COPILOT_MODEL", "gpt-5"),
            provider=provider,
            working_directory=str(workspace),
            on_permission_request=PermissionHandler.approve_all,
        )
