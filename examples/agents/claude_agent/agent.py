"""Claude Code by the Claude Agent SDK: options alone; Viva opens a session with them for each run."""

from claude_agent_sdk import ClaudeAgentOptions

options = ClaudeAgentOptions(
    system_prompt="You are a careful assistant.",
    allowed_tools=["Bash", "Read", "Write"],
    permission_mode="acceptEdits",
    setting_sources=[],  # nothing of this machine's user or project, so that every machine examines the same agent
)
