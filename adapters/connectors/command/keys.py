"""The keys of a program in an agent file, and what the short SPECs `cmd:COMMAND` and `cmd+plain:COMMAND` stand for."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from viva.adapters.connectors.agent_file import ConnectorKeys

JSON: Final = "json"
PLAIN: Final = "plain"
PLAIN_KEYS = ("prompt", "quiet_seconds", "newlines", "quit", "stderr", "rows", "columns")
"""The keys that only plain mode takes."""
JSON_KEYS = ("hello",)
"""The keys that only JSON mode takes."""


class CommandKeys(ConnectorKeys):
    """How a program is started, and how it is talked to."""

    command: str | list[str] = Field(min_length=1)
    """The command, as typed into a shell, or its words. No shell reads it."""
    mode: Literal["json", "plain"] = "json"
    """`json`: one JSON object per line, in each direction. `plain`: text, through a terminal."""
    folder: str | None = None
    """The folder in which the program runs, relative to the file; the default is the run's workspace."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables to set; `${NAME}` stands for a variable of Viva's environment. Paths are relative to the file."""
    close_seconds: float = Field(default=5.0, ge=0, le=10)
    """How long the program may take to end when its input has ended, before it gets SIGTERM."""
    hello: bool = False
    """Whether the program is greeted, and answers that, before the first message (mode `json`)."""

    prompt: str | None = None
    """A regular expression that matches the end of the output when the program waits for input (mode `plain`)."""
    quiet_seconds: float = Field(default=1.0, gt=0, le=600)
    """Without a prompt: the silence after which a reply has ended."""
    newlines: Literal["join", "lines"] = "join"
    """What becomes of a message of several lines: one line, or lines that are entered one after the other."""
    quit: str | None = None
    """What is entered to end the program; the default is the end of input, Ctrl-D."""
    stderr: Literal["reply", "printed"] = "reply"
    """Whether stderr is part of the replies, as on a terminal, or stored with what the program printed."""
    rows: int = Field(default=50, ge=1, le=65535)
    columns: int = Field(default=10_000, ge=1, le=65535)
