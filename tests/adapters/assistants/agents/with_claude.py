"""Options of the Claude Agent SDK in several forms."""

import os

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

options = ClaudeAgentOptions(permission_mode="acceptEdits", allowed_tools=["Bash", "Task", "Agent"], setting_sources=[])
unasked = ClaudeAgentOptions(setting_sources=[])
missing = ClaudeAgentOptions(cli_path="/nowhere/claude")
client = ClaudeSDKClient(options)


def made(workspace, config_var):
    """Options that the run decides: another program."""
    return ClaudeAgentOptions(cwd=workspace, cli_path=config_var["cli"])


def marked(config_var):
    """Options whose processes can be recognized."""
    return ClaudeAgentOptions(setting_sources=[], env={"MARK": config_var["mark"], "HOME": os.environ["HOME"]})
