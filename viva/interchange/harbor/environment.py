"""The build context of a task's container: what it gives the agent becomes data files."""

from __future__ import annotations

import os
import re

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.harbor.folder import BYTES, TaskFolder
from viva.interchange.ledger import Gap

FOLDER = "environment"
MOST_BYTES = 8 * 1024 * 1024
_COPY = re.compile(r"^\s*(?:COPY|ADD)\s+(?:--\S+\s+)*(?P<what>.+)$", re.IGNORECASE | re.MULTILINE)


def add_environment(draft: CaseDraft, task: TaskFolder) -> None:
    """Add the files that the container's recipe copies, and report the rest. Nothing is built."""
    copied = _copied(task)
    for name in task.below(FOLDER):
        inside = os.path.relpath(name, FOLDER)
        file = task.file(name)
        wanted = any(inside == each or each == "." or inside.startswith(each.rstrip("/") + "/") for each in copied)
        if os.path.basename(name).lower().startswith(("dockerfile", "docker-compose", "compose")):
            file.report(Gap.REFUSED, "no container is built from the source: prepare the agent's environment yourself")
        elif not wanted or len(content := task.raw(name)) > MOST_BYTES or inside in ("case.yaml", "case.yml"):
            file.report(Gap.NO_HOME, "is part of the container's recipe; if the agent needs it, add it to data_files")
        else:
            draft.files[inside] = content
            if file.peek() != BYTES and file.peek():
                file.express("a data file")
    solutions = [name for name in task.below("") if name.split("/")[0] == "solution" or "/solution/" in name]
    for name in solutions:
        why = "a solution of a case consists of replies and files: give an agent to `viva cases lint --solution`"
        task.file(name).report(Gap.NEEDS_A_PERSON, why)


def _copied(task: TaskFolder) -> list[str]:
    recipe = os.path.join(FOLDER, "Dockerfile")
    text = task.file(recipe).peek() if task.has(recipe) else ""
    found = []
    for line in _COPY.finditer(str(text)):
        found += [
            os.path.normpath(each) for each in line["what"].split()[:-1] if not each.startswith(("/", "http", "["))
        ]
    return found
