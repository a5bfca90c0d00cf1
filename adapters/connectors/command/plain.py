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
from viva.adapters.time_limits import time_limit
from viva.errors import AgentError
from viva.records.redact import redact_end
from viva.records.text import counted, exact_line

SETTLE_SECONDS = 0.05
"""How long the output must rest behind a prompt: the text of a reply may contain one, too."""
LONGEST_LINE = 4095
"""Most bytes of a line that a terminal in line mode passes on (N_TTY_BUF_SIZE in Linux), its end included."""
PROMPT_LENGTH = 200
"""Longest unfinished line that is taken for a prompt."""
TAIL = 4000
"""Bytes at the end of the output in which a prompt is looked for."""
LARGE = 64 * 1024
"""Minimum number of bytes of output that are read on a thread, so that the event loop continues."""
SHOWN = 500
MOST_UNASKED = 10
"""Maximum number of texts that the program wrote unasked and a note quotes."""
_LOCAL = 3
"""The place of the local modes in what `termios.tcgetattr` returns."""
_NO_LIMIT = contextlib.nullcontext()


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
        self._in_step = True
        """Whether the program is known to have answered all that was typed: it showed its prompt after each line."""
        self._prompted = False
        """Whether it showed its prompt after a line: what it began with may have been a greeting without a line end."""
        self._unasked: list[str] = []
        """What it wrote behind its prompt, each time before another line was typed, as it is shown."""
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
        await self._greet()

    async def _greet(self) -> None:
        """Take what it has written so far as its greeting, whose unfinished last line is its prompt."""
        greeting = await self._text()
        last = greeting.rpartition("\n")[2].rstrip()
        if self._prompt is None and last.strip() and len(last) <= PROMPT_LENGTH:
            self.prompt = last
        self._set_aside(greeting)

    def _set_aside(self, text: str) -> None:
        """Keep the output so far, of which this is the text, apart from all replies."""
        self._aside = (self._aside + text)[-2 * PRINTED_LIMIT :]
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
            prompted = await self._collect(program, line if echoes else None)
        finally:
            if typing is not None:
                typing.cancel()
        self._prompted = self._prompted or prompted
        text = await self._reply(line if echoes else None)
        self._in_step = self._in_step and prompted
        self._output.clear()
        return text

    async def _read_what_is_there(self, program: Program) -> None:
        """Read what the program wrote after its last reply, so that all that comes now follows the next line.

        Raises:
            AgentError: nothing but silence told the end of an earlier reply, so that it was cut; or the program has
                ended, or wrote too much.
        """
        while program.has_output() and len(self._output) <= LIMIT:
            await self._read_on(program, None)
        if not self._said:  # what a slow start has greeted with meanwhile
            self._said = True
            await self._greet()
            return
        late, waits = self._without_prompt(await self._text())
        self._prompted = self._prompted or waits
        if not late.strip():  # it had not shown its prompt yet, or shows it again
            self._in_step = self._in_step or waits
            self._output.clear()
            return
        if not self._in_step:
            raise self._went_on(late)
        if not waits:  # it may be in the middle of it
            with contextlib.suppress(TimeoutError):
                async with time_limit(self.plan.keys.quiet_seconds):
                    await self._collect(program, None)
            late, _ = self._without_prompt(await self._text())
        self._note_unasked(late)
        self._set_aside(late)

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

    async def _collect(self, program: Program, echo: str | None, *, begin: bool = False) -> bool:
        """Read until the program waits for input; return whether it has shown its prompt.

        Args:
            program: The program.
            echo: The line that it will repeat, if it does.
            begin: Whether it has just been started, and may have nothing to say.

        Raises:
            AgentError: it ended, or wrote too much.
        """
        while True:
            seconds, prompted = await self._longest_silence(echo, begin=begin)
            if not await self._read_on(program, seconds):
                return prompted

    async def _read_on(self, program: Program, seconds: float | None) -> bool:
        """Read what the program writes next; return whether there is anything within this time.

        Raises:
            AgentError: it ended, or wrote too much.
        """
        if len(self._output) > LIMIT:
            raise AgentError(f"it wrote more than {LIMIT:,} bytes in one reply: {_shown(self._last_text())}")
        try:
            async with _NO_LIMIT if seconds is None else time_limit(seconds):
                part = await program.read()
        except TimeoutError:
            return program.has_output()  # which may have come while Viva itself stood still
        if not part:
            raise await self._ended(program)
        self._output += part
        return True

    async def _longest_silence(self, echo: str | None, *, begin: bool) -> tuple[float | None, bool]:
        """Return after how many seconds of silence it is taken to wait for input, and whether it shows its prompt.

        The first is None if silence is no sign of it. Behind a prompt, little is enough, unless silence ended a reply
        before, so that the prompt may be the one that follows that reply.
        """
        tail, quiet = readable(self._output[-TAIL:].decode("utf-8", "replace")), self.plan.keys.quiet_seconds
        if self._prompt is not None:
            prompted = self._prompt.search(tail) is not None
            return SETTLE_SECONDS if prompted else None, prompted
        spoken = await self._has_spoken(echo, tail)
        if spoken and self._without_prompt(tail)[1]:
            return SETTLE_SECONDS if self._in_step else quiet, True
        return quiet if begin or spoken else None, False

    async def _has_spoken(self, echo: str | None, tail: str) -> bool:
        """Return whether the program has written anything visible beside the line that it repeats."""
        if echo is None or len(self._output) > 4 * len(echo) + TAIL:
            return bool(tail.strip())
        return bool(_without_echo(await self._text(), echo).strip())

    async def _reply(self, echo: str | None) -> str:
        """Return what it wrote as a reply, without the line that it repeats and without its prompt.

        Raises:
            AgentError: it is, at least in part, what the program owed to an earlier line.
        """
        text = await self._text()
        if echo is not None:
            text = _without_echo(text, echo)
        text, _ = self._without_prompt(text)
        overtook = self._prompted and not self._in_step
        if overtook and self.prompt is not None and f"\n{self.prompt}" in f"\n{text}":
            raise self._went_on(text)  # it waited, and found this line typed already
        return text.strip("\n").rstrip()

    def _without_prompt(self, text: str) -> tuple[str, bool]:
        """Return a text without the prompt at its end, and whether one is there."""
        if self._prompt is not None:
            found = self._prompt.search(text, max(0, len(text) - TAIL))
            return (text, False) if found is None else (text[: found.start()], True)
        before, _, last = text.rpartition("\n")
        return (before, True) if self.prompt is not None and last.rstrip() == self.prompt else (text, False)

    def _went_on(self, text: str) -> AgentError:
        return AgentError(
            f"it went on writing after {self.plan.keys.quiet_seconds:g} s of silence, which had ended its reply: "
            f"{_shown(text)}. Set a longer quiet_seconds, or the prompt that it shows, in an agent file"
        )

    async def _text(self) -> str:
        output = self._output.decode("utf-8", "backslashreplace")
        return await asyncio.to_thread(readable, output) if len(self._output) > LARGE else readable(output)

    def _last_text(self) -> str:
        """Return the end of what it has written, without secrets."""
        end = self._output[-4 * PRINTED_LIMIT :]
        text = readable(end.decode("utf-8", "backslashreplace"))
        return redact_end(text, len(text), cut=len(end) < len(self._output))

    async def _ended(self, program: Program) -> AgentError:
        how = str(await program.how_it_ended("it has closed its terminal"))
        last = self._last_text().strip() or self._aside.strip()
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
            return f"; its output so far: {_shown(self._last_text())}"
        apart = "; its stderr is kept apart, and some programs write their prompt there"
        return f"; it has written nothing{apart if self.plan.keys.stderr == 'printed' else ''}"

    def _note_unasked(self, text: str) -> None:
        """Keep what it wrote unasked for the note on all of it."""
        self._unasked.append(_shown(text))
        more = len(self._unasked) - MOST_UNASKED
        words = [*self._unasked[:MOST_UNASKED], *([f"and {counted(more, 'further text')}"] if more > 0 else [])]
        self.notes = (
            f"what the agent wrote between its prompt and another message is in no reply: {', '.join(words)}",
        )

    async def _ask_to_end(self, program: Program) -> str | None:
        # Its last words must not block it.
        self._draining = asyncio.ensure_future(self._drain(program))
        if self._made_raw and self.plan.keys.quit is None:
            program.terminate()  # Ctrl-D means nothing any longer
            return None
        with contextlib.suppress(OSError):
            program.write_now(b"\x04" if self.plan.keys.quit is None else f"{self.plan.keys.quit}\r".encode())
        return None

    async def _drain(self, program: Program) -> None:
        while part := await program.read():
            self._output += part
            del self._output[: -4 * PRINTED_LIMIT]

    def _printed(self, program: Program) -> tuple[str, str]:
        if self._draining is not None:
            self._draining.cancel()
        return f"{self._aside.strip()}\n{self._last_text().strip()}".strip(), program.printed[1]


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
