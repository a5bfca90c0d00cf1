"""What goes with a job to a node: the files that a stored conversation names, and the agent's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.exam.judging.stored_facts import setting_of
from viva.exam.kept_workspaces import FoundWorkspace, find_workspace_of
from viva.journal.conversation_lines import ConversationLines
from viva.journal.kept_files import case_name, names_in, read_kept, read_sound
from viva.suites.job import Action, Job
from viva.suites.on_ray.archives import TooLarge, pack_folder
from viva.suites.on_ray.border import Plain

MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of the images and texts of one conversation; the node misses what is beyond, as if it were lost."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What goes with one job."""

    plain: dict[str, Plain]
    """`files`, `workspace`, `missing` and `here`, as `NodeWorker.start` takes them."""
    workspace: Path | None = None
    """Where the agent's files are on this machine; None if there are none, or they are not sent."""


def gather_beside(job: Job, journal: Path, named: tuple[str, ...], *, sends_case: bool) -> Beside:
    """Read what goes with a job. It may take long, so call it on a thread.

    Args:
        job: The job.
        journal: The folder of the journal that is written.
        named: Folders outside of journals in which agents' files may be read.
        sends_case: Whether the node does not know the case from its work order.
    """
    lines = job.conversation
    if lines is None:
        return Beside({"files": [], "workspace": None, "missing": None, "here": True})
    folder = Path(lines.folder)
    files = list(_named_files(lines, folder))
    if sends_case and (content := read_kept(journal, name := case_name(job.case_hash))) is not None:
        files.append([name, content])
    found, archive = _workspace(lines, folder, named) if job.action is Action.JUDGE else (FoundWorkspace(), None)
    here = folder.resolve() == journal.resolve()
    plain = {"files": files, "workspace": archive, "missing": found.missing, "here": here}
    return Beside(plain, found.folder if archive is not None else None)


def _named_files(lines: ConversationLines, folder: Path) -> Iterator[list[Plain]]:
    left = MOST_BYTES
    for name in dict.fromkeys(names_in("\n".join(lines.lines).encode())):
        if (content := read_sound(folder, name)) is not None and len(content) <= left:
            left -= len(content)
            yield [name, content]


def _workspace(lines: ConversationLines, folder: Path, named: tuple[str, ...]) -> tuple[FoundWorkspace, bytes | None]:
    try:
        found = find_workspace_of(setting_of(lines), folder, named)
        archive = None if found.folder is None else pack_folder(found.folder)
    except (OSError, ValueError) as error:
        return FoundWorkspace(missing=f"the agent's files cannot be read: {error}"), None
    except TooLarge as error:
        words = f"the agent's files cannot be sent to a node, because {error}: judge this run without --engine ray"
        return FoundWorkspace(missing=words), None
    return found, archive
