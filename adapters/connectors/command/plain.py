"""A program in a terminal: messages are typed there, and a reply is what it writes until it waits again."""

from __future__ import annotations

import asyncio
import contextlib
import re
import termios
from collections.abc import Mapping

from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.command.program_agent import ProgramAgent
from viva.adapters.connectors.command.screen import readable, without_controls
from viva.adapters.inside.wire import LIMIT
from viva.adapters.printed import LIMIT as PRINTED_LIMIT
from viva.errors import AgentError
from viva.records.redact import redact_end
from viva.records.text import exact_line

SETTLE_SECONDS = 0.05
"""How long the output must rest behind a prompt: the text of a reply may contain one, too."""
LONGEST_LINE = 4095
"""Most bytes of a line that a terminal in line mode passes on (N_TTY_BUF_SIZE in Linux), its end included."""
PROMPT_LENGTH = 200
"""Longest unfinished line that is taken for a prompt."""
TAIL = 4000
"""Bytes at the end of the output in which a prompt is looked for."""
SHOWN = 500
_LOCAL = 3
"""The place of the local modes in what `termios.tcgetattr` returns."""


class TerminalAgent(ProgramAgent):
    """One program in one run, in plain mode."""

    terminal = True
    ignores_config_var = True

    def _prepare(self) -> None:
        self._output = bytearray()
        """What it has written since the end of its last reply."""
        self._aside = ""
        """The end of what it wrote that belongs to no reply."""
        self._said = False
        """Whether a line was typed."""
        self._made_raw = False
        """Whether Viva has taken the terminal out of the line mode."""
        self._draining: asyncio.Task[None] | None = None
        prompt = self.plan.keys.prompt
        self._prompt = None if prompt is None else re.compile(f"(?:{prompt})[ \t]*\\Z", re.MULTILINE)
        self.prompt: str | None = None
        """The unfinished line that the program showed before the first message, if no `prompt` is given."""

    async def _get_ready(self) -> None:
        program = self._running()
        await self._collect(program, None, begin=True)
        self._set_aside()

    def _set_aside(self) -> None:
        """Take what it has written so far as its greeting, whose unfinished last line is its prompt."""
        greeting = self._text()
        last = greeting.rpartition("\n")[2].rstrip()
        if self._prompt is None and last.strip() and len(last) <= PROMPT_LENGTH:
            self.prompt = last
        self._aside += greeting
        self._output.clear()

    async def _converse(self, program: Program, message: str) -> str:
        joined = self.plan.keys.newlines == "join"
        lines = [" ".join(message.splitlines())] if joined else message.split("\n")
        replies = [await self._say(program, without_controls(line)) for line in lines]
        return "\n".join(reply for reply in replies if reply)

    async def _say(self, program: Program, line: str) -> str:
        """Type one line, and return what the program writes until it waits again."""
        await self._read_what_is_there(program)
        echoes = self._tune(program, line)
        rest = memoryview(b"")
        with contextlib.suppress(OSError):  # reading tells how it ended
            rest = program.write_now(line.encode("utf-8", "backslashreplace") + b"\r")
        # The program may echo a long line while it reads it, and stop reading until that was read in turn.
        typing = asyncio.ensure_future(program.write(bytes(rest))) if rest else None
        try:
            await self._collect(program, line if echoes else None)
        finally:
            if typing is not None:
                typing.cancel()
        text = self._reply(line if echoes else None)
        self._output.clear()
        return text

    async def _read_what_is_there(self, program: Program) -> None:
        """Read what the program wrote after its last reply.

        Raises:
            AgentError: nothing but silence told the end of that reply, so that it was cut; or the program has ended.
        """
        while program.has_output() and len(self._output) <= LIMIT:
            part = await program.read()
            if not part:
                raise await self._ended(program)
            self._output += part
        if not self._said:  # what a slow start has greeted with meanwhile
            self._set_aside()
        self._said = True
        late = self._text().strip()
        if late and self._prompt is None and self.prompt is None:
            seconds = self.plan.keys.quiet_seconds
            raise AgentError(
                f"it went on writing after {seconds:g} s of silence, which had ended its reply: {_shown(late)}. "
                "Set a longer quiet_seconds, or the prompt that it shows, in an agent file"
            )

    def _tune(self, program: Program, line: str) -> bool:
        """Make the terminal pass a line of any length; return whether the line will be repeated in the output."""
        settings = termios.tcgetattr(program.terminal)
        in_line_mode = bool(settings[_LOCAL] & termios.ICANON)
        if in_line_mode and len(line.encode("utf-8", "backslashreplace")) >= LONGEST_LINE:
            settings[_LOCAL] &= ~termios.ICANON
            termios.tcsetattr(program.terminal, termios.TCSANOW, settings)
            self._made_raw = True
        # A program that has left the line mode edits its lines itself, and shows them.
        edits = not in_line_mode and not self._made_raw
        return edits or bool(settings[_LOCAL] & termios.ECHO)

    async def _collect(self, program: Program, echo: str | None, *, begin: bool = False) -> None:
        """Read until the program waits for input.

        Args:
            program: The program.
            echo: The line that it will repeat, if it does.
            begin: Whether it has just been started, and may have nothing to say.

        Raises:
            AgentError: it ended, or wrote too much.
        """
        quiet = self.plan.keys.quiet_seconds
        while True:
            if len(self._output) > LIMIT:
                raise AgentError(f"it wrote more than {LIMIT:,} bytes in one reply: {_shown(self._text())}")
            wait = None if self._prompt is not None or not (begin or self._has_spoken(echo)) else quiet
            if self._is_at_prompt(echo):
                wait = SETTLE_SECONDS
            try:
                async with asyncio.timeout(wait):
                    part = await program.read()
            except TimeoutError:
                return
            if not part:
                raise await self._ended(program)
            self._output += part

    def _is_at_prompt(self, echo: str | None) -> bool:
        tail = readable(self._output[-TAIL:].decode("utf-8", "replace"))
        if self._prompt is not None:
            return self._prompt.search(tail) is not None
        if self.prompt is None or not self._has_spoken(echo):
            return False
        return tail.rpartition("\n")[2].rstrip() == self.prompt

    def _has_spoken(self, echo: str | None) -> bool:
        """Return whether the program has written anything visible beside the line that it repeats."""
        if echo is None or len(self._output) > 4 * len(echo) + TAIL:
            return bool(readable(self._output[-TAIL:].decode("utf-8", "replace")).strip())
        return bool(_without_echo(self._text(), echo).strip())

    def _reply(self, echo: str | None) -> str:
        text = self._text()
        if echo is not None:
            text = _without_echo(text, echo)
        if self._prompt is not None:
            start = max(0, len(text) - TAIL)
            if found := self._prompt.search(text, start):
                text = text[: found.start()]
        elif self.prompt is not None:
            before, newline, last = text.rpartition("\n")
            text = before if last.rstrip() == self.prompt else f"{before}{newline}{last}"
        return text.strip("\n").rstrip()

    def _text(self) -> str:
        return readable(self._output.decode("utf-8", "backslashreplace"))

    async def _ended(self, program: Program) -> AgentError:
        how = str(await program.how_it_ended("it has closed its terminal"))
        last = self._text().strip() or self._aside.strip()
        return AgentError(f"{how}; the end of its output: {_shown(last)}" if last else how)

    def facts(self) -> Mapping[str, str]:
        """Return what ends its replies."""
        end = f"{self.plan.keys.quiet_seconds:g} s of silence"
        if self._prompt is not None:
            end = f"output that matches the prompt {self.plan.keys.prompt}"
        elif self.prompt is not None:
            end = f"the line {self.prompt!r}, which it began with, or {end}"
        return {"mode": "plain", "end of a reply": end}

    def so_far(self) -> str:
        """Return what it has written since it was last asked."""
        if self._output:
            return f"; its output so far: {_shown(self._text())}"
        apart = "; its stderr is kept apart, and some programs write their prompt there"
        return f"; it has written nothing{apart if self.plan.keys.stderr == 'printed' else ''}"

    async def _ask_to_end(self, program: Program) -> str | None:
        # Its last words must not block it.
        self._draining = asyncio.ensure_future(self._drain(program))
        if self._made_raw and self.plan.keys.quit is None:
            program.terminate()  # Ctrl-D means nothing any longer
            return None
        with contextlib.suppress(OSError):
            if self.plan.keys.quit is not None:
                program.write_now(f"{self.plan.keys.quit}\r".encode())
                return None
            program.write_now(b"\x04")
        return None

    async def _drain(self, program: Program) -> None:
        while part := await program.read():
            self._output += part
            del self._output[: -4 * PRINTED_LIMIT]

    def _printed(self, program: Program) -> tuple[str, str]:
        if self._draining is not None:
            self._draining.cancel()
        return f"{self._aside.strip()}\n{self._text().strip()}".strip(), program.printed[1]


def _without_echo(text: str, echo: str) -> str:
    """Return an output without the typed line at its beginning, if it is there."""
    first, newline, rest = text.partition("\n")
    if not newline:
        # The line is still being repeated.
        return "" if _folded(echo).startswith(_folded(first)) else text
    return rest if _folded(first) == _folded(echo) else text


def _folded(text: str) -> str:
    return "".join(text.split())


def _shown(text: str) -> str:
    return repr(exact_line(redact_end(text.strip(), SHOWN), SHOWN))
