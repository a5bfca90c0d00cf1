"""Claude Code, by the Claude Agent SDK: `pytest --viva-conformance with_claude_agent_sdk.py:made@VENV`."""

from agent import Model
from claude_agent_sdk import ClaudeAgentOptions
from model_over_http import serve


def made(workspace):
    keys = {"ANTHROPIC_BASE_URL": serve(Model("", workspace=workspace)), "ANTHROPIC_API_KEY": "none"}
    keys |= {"CLAUDE_CONFIG_DIR": f"{workspace}/.claude"}  # nothing of this machine's user
    keys |= {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
    }
    # The SDK accepts messages of 1 MB unless the options say more.
    return ClaudeAgentOptions(setting_sources=[], tools=[], env=keys, max_buffer_size=100_000_000)
