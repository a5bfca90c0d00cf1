"""Makes a case of each task in a folder."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.spelling import entries
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.harbor.environment import add_environment
from viva.interchange.harbor.folder import TaskFolder
from viva.interchange.harbor.settings import add_settings
from viva.interchange.harbor.verifier import add_verifier
from viva.interchange.ledger import Gap
from viva.interchange.parsing import decoded
from viva.interchange.plain_data import plain_data
from viva.interchange.source import Source

TASK = "task.toml"
INSTRUCTION = "instruction.md"
MOST_TASKS = 20_000


def recognises(source: SourceFile) -> bool:
    """Return whether a folder is a task, or has tasks in it."""
    return source.path.is_dir() and next(_tasks(source), None) is not None


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all tasks.

    Raises:
        SetupError: there are none, or one cannot be read.
    """
    found = list(_tasks(source)) if source.path.is_dir() else []
    if not found:
        raise SetupError(f"{source.path} is not a folder with a {TASK}, and has none in it.")
    return [_case(TaskFolder(source, name)) for name in found]


def _tasks(source: SourceFile) -> Iterator[str]:
    """Yield the folders of tasks below the source, in the order of their names."""
    for parent, folders, names in os.walk(source.path):
        folders.sort()
        if TASK in names:
            folders.clear()
            yield os.path.relpath(parent, source.path)


def _case(task: TaskFolder) -> CaseDraft:
    name = task.place(TASK)
    try:
        settings = plain_data(tomllib.loads(decoded(task.source.bytes_of(name), name)), name)
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{name} is not valid TOML: {error}.") from error
    root = Source.root(settings, task.source.ledger, name)
    task.seen.add(TASK)
    draft = CaseDraft(os.path.basename(os.path.abspath(task.source.path / task.name)), "")
    steps = list(entries(root.get("steps")))
    folders = [f"steps/{_name(step, number)}" for number, step in enumerate(steps, 1)]
    for folder, step in zip_longest(folders or [""], steps):
        _ask(draft, task, folder)
        add_verifier(draft, task, folder, root, step)
    draft.fields["max_rounds"] = max(1, len(draft.script))
    add_settings(draft, root, steps)
    add_environment(draft, task)
    for left in task.left():
        task.file(left).report(Gap.NO_HOME, "is not part of what the agent is asked, given or judged by")
    return draft


def _name(step: Source, number: int) -> str:
    name = step.get("name")
    return str(name.express("a message of the script")) if name is not None else str(number)


def _ask(draft: CaseDraft, task: TaskFolder, folder: str) -> None:
    place = os.path.join(folder, INSTRUCTION)
    if not task.has(place):
        raise SetupError(f"{task.place(place)} is missing: a task says there what the agent is asked.")
    text: Any = task.file(place).take()
    draft.script.append(text.strip("\n") if isinstance(text, str) and text.strip() else "(empty)")
