"""What a judge is told beside the conversation, for the person who labels what it judged."""

from __future__ import annotations

from collections.abc import Iterator

from viva.cases import Case
from viva.exam.kept_workspaces import find_workspace
from viva.journal.reader import StoredRun
from viva.records.text import one_line, printable


def known_to_the_judge(stored: StoredRun, case: Case) -> Iterator[tuple[str, str]]:
    """Yield the name and the words of all that a judge goes by beside the conversation, ready to print."""
    yield "task", printable(case.task_description.strip(), 2000)
    if case.background:
        yield "background", printable(case.background.strip(), 2000)
    if case.evidence:
        found = find_workspace(stored)
        folder = one_line(str(found.folder), 500) if found.folder else found.missing or "the agent left none"
        yield "files of the agent", folder
