"""Makes the sessions of Claude Code and Codex in `tests/viva/recordings/sources/recorded` with a scripted model.

`python coding_agents.py claude OUT BIN`, or with `codex`; BIN is the folder with their commands (`npm install
@anthropic-ai/claude-code @openai/codex`). The agents do what the model asks for in a folder of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripted_streams import serve

QUESTION = "List the files."
LONGEST = 300
"""Characters of a text that are kept: the files hold long instructions of the agents' makers."""
CONFIG = """model = "gpt-5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


def run(agent: str, home: Path, commands: Path, address: str) -> Path:
    """Run an agent, and return the file of its session."""
    project = home / "project"
    project.mkdir(parents=True)
    (project / "a.py").write_text("x = 1\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    if agent == "claude":
        env |= {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1"}
        env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        command = [commands / "claude", "-p", QUESTION, "--allowedTools", "Bash", "Read"]
    else:
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(CONFIG.format(address=address))
        env["SCRIPTED_KEY"] = "none"
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        command = [commands / "codex", "exec", *options, QUESTION]
    subprocess.run(command, cwd=project, env=env, stdin=subprocess.DEVNULL, check=True, timeout=120)
    below = home / (".claude/projects" if agent == "claude" else ".codex/sessions")
    (session,) = below.rglob("*.jsonl")
    return session


def shortened(value: Any, home: str) -> Any:
    """Return a value without the paths of this machine, and without the ends of long texts."""
    if isinstance(value, str):
        return value.replace(home, "/home/somebody").replace(home.replace("/", "-"), "-home-somebody")[:LONGEST]
    if isinstance(value, list):
        return [shortened(each, home) for each in value]
    return {key: shortened(each, home) for key, each in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        session = run(sys.argv[1], Path(folder), Path(sys.argv[3]), serve())
        lines = [json.loads(line) for line in session.read_text().splitlines()]
        Path(sys.argv[2]).write_text("".join(json.dumps(shortened(line, folder)) + "\n" for line in lines))
