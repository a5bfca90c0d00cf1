"""What is left of a stored run for judging it again: its case, its files, its agent's name, and its judge of now."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from adapters.connectors.python import LoadedAgent
from adapters.errors import SetupError
from cases import Case
from harness.exam.resources import JudgeResources
from records.codec import decode, encode
from records.journal import Journal, run_id, scan
from records.journal_reader import StoredRun, read_runs
from records.run_record import Setting
from records.transcript import StopReason

MOST_TRIALS = 1000
"""That are tried to find out which one an id stands for."""


# It becomes part of a path, and a journal may come from a stranger.
_HASH = re.compile(r"[0-9a-f]{1,128}")


@dataclass(slots=True)
class StoredState:
    """What a first look at a journal tells of a run, in its newest attempt."""

    attempt: int
    setting: Setting
    ended: bool = False
    """Whether the conversation came to its end."""


def read_stored_states(folder: Path, run: str | None) -> dict[str, StoredState]:
    """All runs of a journal, or one of them, without reading what was said.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    if run is not None:
        next(read_runs(folder, run))
    found: dict[str, StoredState] = {}
    for event in scan(folder, kinds=frozenset({"setting", "transcript"})):
        if run not in (None, event.run):
            continue
        held = found.get(event.run)
        if held is None or event.attempt > held.attempt:
            held = found[event.run] = StoredState(event.attempt, Setting())
        if event.attempt < held.attempt:
            continue
        if event.kind == "setting":
            held.setting = decode(Setting, event.data)
        else:
            held.ended = event.data.get("stop") not in (None, StopReason.CANCELLED.value)
    return found


def judged_by(setting: Setting, judge: JudgeResources) -> Setting:
    """A run's setting with the judge that judges it now."""
    return replace(
        setting,
        judge=judge.kind,
        judge_model=judge.model.name if judge.model else None,
        sandbox=judge.sandbox.name if judge.sandbox else None,
        sandbox_isolates=judge.sandbox.isolates if judge.sandbox else None,
        prompts={**{key: value for key, value in setting.prompts.items() if key == "examiner"}, **judge.prompts},
    )


def stored_case(folder: Path, setting: Setting, journal: Journal | None = None) -> Case:
    """The case of a stored run as it was then, under the run's own name: cases of one content share one paper.

    Its scoring points may have changed on disk since.

    Args:
        folder: The run's journal.
        setting: The run's.
        journal: Keeps a copy.

    Raises:
        SetupError: the journal does not hold it.
    """
    name = f"cases/{setting.case_hash}.json"
    if not _HASH.fullmatch(setting.case_hash):
        raise SetupError(f"a run in {folder} names no case: {setting.case_hash[:80]!r}")
    try:
        content = (folder / name).read_bytes()
        case = decode(Case, json.loads(content))
    except (OSError, ValueError) as error:
        raise SetupError(f"the case {setting.case!r} cannot be read from {folder / name}: {error}") from error
    if journal is not None:
        journal.keep(name, content)
    return replace(case, name=setting.case or case.name)


def case_for(folder: Path, setting: Setting, mended: Case | None, journal: Journal | None = None) -> Case:
    """The case that a stored run is judged by: `mended` if that is its case, else the stored one.

    Raises:
        SetupError: the journal does not hold it.
    """
    if mended is None or mended.name != setting.case:
        return stored_case(folder, setting, journal)
    if journal is not None:
        journal.keep(f"cases/{mended.hash}.json", encode(mended))
    return mended


def workspace_of(stored: StoredRun) -> Path | None:
    """The folder with the agent's files, if it still is there."""
    if stored.setting.workspace is None:
        return None
    folder = stored.folder / stored.setting.workspace
    return folder if folder.is_dir() else None


def moved(stored: StoredRun, journal: Journal, case: Case, judge: JudgeResources) -> StoredRun:
    """Copy a conversation into another journal, to be judged there by `case`; its files stay where they are.

    Raises:
        JournalError: the disk did not take it.
    """
    workspace = workspace_of(stored)
    place = None if workspace is None else os.path.relpath(workspace.resolve(), journal.folder.resolve())
    setting = judged_by(replace(stored.setting, workspace=place, case_hash=case.hash), judge)
    journal.copy_lines(stored.lines, stored.folder)
    journal.append("setting", stored.id, stored.attempt, setting)
    return replace(stored, folder=journal.folder, setting=setting, lines=b"")


def trial_of(stored: StoredRun) -> int:
    """Which trial a stored run is; where it has no record, its id tells."""
    if stored.record is not None:
        return stored.record.trial
    case, agent = stored.setting.case, stored.setting.agent
    return next((trial for trial in range(1, MOST_TRIALS) if run_id(case, agent, trial) == stored.id), 1)


def absent_agent(stored: StoredRun) -> LoadedAgent:
    """The agent of a stored run by its name and version; there is nothing behind them."""

    def nobody(*_: Any) -> NoReturn:
        raise SetupError(f"the agent of the stored run {stored.id} is not here")

    version = stored.record.agent_version if stored.record is not None else None
    factory: Callable[..., Any] = nobody
    return LoadedAgent(stored.setting.agent, stored.setting.agent, factory, version)
