"""Subscribers are notified during runs: the progress display, the syncing of the journal, and every sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from viva.records.run_record import RunRecord
from viva.records.transcript import Round, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """Identifies a run; the same for its start, its rounds and its end."""

    id: str
    """The same for every attempt."""
    subject: str
    """Name of the case, task label or trace."""
    agent: str
    """SPEC of the agent, or name of the recorded one."""
    agent_version: str | None = None
    trial: int = 1
    persona: str = ""
    """The bundled persona that was chosen for the run; empty if none was."""
    strategy: str = ""
    """The bundled strategy that was chosen for the run; empty if none was."""
    attempt: int = 1
    tags: tuple[str, ...] = ()
    max_rounds: int | None = None
    """Maximum number of rounds, if the run is still to be conducted."""
    requeued: tuple[str, ...] = ()
    """How earlier attempts ended after which the user had the run done again."""
    suite: str = ""
    """The suite of `viva.yaml` to which the run belongs, by name; empty if to none."""
    node: str | None = None
    """The name of the cluster's node on which the run is done; None without a cluster."""


class Subscriber(Protocol):
    """Is notified of the progress of runs. The engine awaits each call, so a slow subscriber slows down the suite.

    A subscriber need not have all five methods.
    """

    def on_note(self, words: str) -> None:
        """Called with something that the user should know and that concerns no single run."""
        ...

    async def on_start(self, run: RunHeader) -> None:
        """Called when a run starts, or starts again."""
        ...

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        """Called when a further round is in the journal."""
        ...

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Called when the record of a run is in the journal."""
        ...

    async def on_closed(self) -> None:
        """Called once, after the last run."""
        ...


class Subscribers:
    """Notifies several subscribers, in order."""

    def __init__(self, subscribers: Sequence[object] = ()) -> None:
        def having(method: str) -> list[object]:
            return [getattr(each, method) for each in subscribers if hasattr(each, method)]

        # Looked up once: a round takes microseconds, and most subscribers do not use rounds.
        self._start, self._round = having("on_start"), having("on_round")
        self._end, self._closed = having("on_end"), having("on_closed")
        self._note = having("on_note")

    def note(self, words: str) -> None:
        """Notify the user about something that concerns no single run."""
        for notify in self._note:
            notify(words)  # type: ignore[operator]

    async def on_start(self, run: RunHeader) -> None:
        """Notify of the start of a run."""
        for notify in self._start:
            await notify(run)  # type: ignore[operator]

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        """Notify of a further round."""
        for notify in self._round:
            await notify(run, round_)  # type: ignore[operator]

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Notify of the end of a run."""
        for notify in self._end:
            await notify(run, record, transcript)  # type: ignore[operator]

    async def on_closed(self) -> None:
        """Notify of the end of all runs."""
        for notify in self._closed:
            await notify()  # type: ignore[operator]
