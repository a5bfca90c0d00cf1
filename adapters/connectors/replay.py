"""The connector to stored conversations: `replay:JOURNAL` repeats an agent's replies in one run of a journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.spec import agent_label
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, SetupError
from viva.journal.kept_files import is_kept, is_kept_name
from viva.journal.reader import StoredRun, read_runs, split_reference
from viva.journal.writer import JournalError
from viva.records.text import one_line
from viva.records.transcript import Reply, Round

MOST_SHOWN = 5
"""Maximum number of run ids in a message."""


class ReplayConnector:
    """Connects to one run of a journal, `replay:JOURNAL` or `replay:JOURNAL#RUN-ID`."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Read the run.

        Raises:
            SetupError: there is no such journal or run, the journal holds several runs, or the run has no reply.
        """
        reference = spec.partition(":")[2]
        try:
            stored = stored_run(reference)
        except JournalError as error:
            hint = " To use your own module called replay, name its file: replay.py:Class."
            looks_like_class = re.fullmatch(r"[^\W\d]\w*(@.*)?", reference, re.DOTALL)
            raise SetupError(f"{error}{hint if looks_like_class else ''}") from error
        rounds = tuple(
            each for each in stored.transcript.rounds if each.agent is not None or each.error is not None or each.steps
        )
        if not rounds:
            raise SetupError(f"the run {stored.id} in {stored.folder} has no reply that could be repeated.")
        name = stored.transcript.participants.get("target") or agent_label(stored.setting.agent or stored.id)
        version = stored.record.agent_version if stored.record is not None else None
        members = {"folder": stored.folder.resolve(), "rounds": rounds}
        return LoadedAgent(spec, name, type("ReplayAgent", (ReplayAgent,), members), version, kind="replay")


class ReplayAgent(VirtualUser):
    """Returns stored replies in their order, with steps and usage, whatever it is asked."""

    folder: ClassVar[Path]
    """The journal's folder."""
    rounds: ClassVar[tuple[Round, ...]]
    ignores_config_var: ClassVar[bool] = True

    def __init__(
        self, task_description: str, app_dir: str | None = None, config_var: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(task_description, app_dir, config_var)
        self._given = 0

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Return the next stored reply.

        Raises:
            AgentError: the agent failed in this round when it was recorded, or there is no further reply.
        """
        if self._given == len(self.rounds):
            raise AgentError(f"the stored conversation has no reply after number {self._given}, its last")
        round_ = self.rounds[self._given]
        self._given += 1
        if round_.error is not None:
            raise AgentError(round_.error)
        return self._stored(round_)

    def load_conversation(self, messages: object) -> None:
        """Accept any beginning: the stored replies stay what they are."""

    async def reply_so_far(self) -> Reply | None:
        """Return what the agent had done when it failed in this round."""
        round_ = self.rounds[self._given - 1] if self._given else None
        return None if round_ is None or round_.error is None else self._stored(round_)

    def _stored(self, round_: Round) -> Reply:
        steps = tuple(replace(step, images=self._images(step.images)) for step in round_.steps)
        return Reply(round_.agent or "", steps, round_.usage, self._images(round_.images))

    def _images(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the paths of images in the journal; others are left out, because their paths could lead anywhere."""
        pictures = (name for name in names if name.startswith("images/") and is_kept_name(name))
        return tuple(str(self.folder / name) for name in pictures if is_kept(self.folder, name))


def stored_run(reference: str) -> StoredRun:
    """Read one run from a journal: `FOLDER#RUN-ID`, or `FOLDER` if the journal holds a single run.

    Raises:
        JournalError: there is no such journal or run.
        SetupError: the journal holds several runs or none, or rounds of the run are missing.
    """
    folder, run = split_reference(reference)
    runs = read_runs(folder, run)
    first = next(runs, None)
    if first is None:
        raise SetupError(f"{folder} holds no run.")
    others = [other.id for other in islice(runs, MOST_SHOWN)]
    if others:
        ids = ", ".join(one_line(name, 120) for name in (first.id, *others)[:MOST_SHOWN])
        more = " and more" if len(others) == MOST_SHOWN else ""
        raise SetupError(f"{folder} holds several runs; name one: '{folder}#{first.id}'. It holds {ids}{more}.")
    if first.gap:
        raise SetupError(f"the conversation {folder}#{one_line(first.id, 120)} is not whole: {first.gap}.")
    return first
