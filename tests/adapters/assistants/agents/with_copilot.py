"""Sessions of the Copilot SDK in several forms."""

import os

from copilot import CopilotClient, RuntimeConnection
from copilot.rpc import PermissionDecisionReject
from copilot.session import PermissionHandler


def provider():
    """The scripted model of the present test."""
    return {"type": "openai", "base_url": os.environ["OPENAI_BASE_URL"], "api_key": "none"}


async def session(workspace):
    """A session whose tools are permitted."""
    async with CopilotClient() as client:
        yield await client.create_session(
            model="gpt-5",
            provider=provider(),
            working_directory=str(workspace),
            on_permission_request=PermissionHandler.approve_all,
        )


async def forbidden(workspace):
    """A session whose tools are not permitted."""
    async with CopilotClient() as client:
        yield await client.create_session(
            model="gpt-5",
            provider=provider(),
            working_directory=str(workspace),
            on_permission_request=lambda request, invocation: PermissionDecisionReject(feedback="not in this exam"),
        )


async def with_servers(config_var):
    """A session with the MCP servers of the case."""
    servers = {each["name"]: {"type": "http", "url": each["url"], "tools": ["*"]} for each in config_var["mcp_servers"]}
    async with CopilotClient() as client:
        yield await client.create_session(
            model="gpt-5",
            provider=provider(),
            mcp_servers=servers,
            on_permission_request=PermissionHandler.approve_all,
        )


async def without_login():
    """A session of GitHub's own models."""
    async with CopilotClient(use_logged_in_user=False) as client:
        yield await client.create_session(on_permission_request=PermissionHandler.approve_all)


async def other_program(config_var):
    """A session of another program."""
    async with CopilotClient(connection=RuntimeConnection.for_stdio(path=config_var["cli"])) as client:
        yield await client.create_session(on_permission_request=PermissionHandler.approve_all, provider=provider())


async def marked(config_var):
    """A session whose processes can be recognized."""
    async with CopilotClient(env={**os.environ, "MARK": config_var["mark"]}) as client:
        yield await client.create_session(
            model="gpt-5", provider=provider(), on_permission_request=PermissionHandler.approve_all
        )


def client():
    """No session."""
    return CopilotClient(connection=RuntimeConnection.for_uri("localhost:1"))
