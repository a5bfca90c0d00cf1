"""Makes a labelled set of stored conversations whose scoring points people have labelled, for other judges to try."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path

from viva.errors import SetupError
from viva.journal.kept_cases import stored_case
from viva.journal.lines import Damage
from viva.journal.reader import StoredRun, read_runs
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.sets import LabelledItem, LabelledPoint, LabelledSet
from viva.records.text import one_line

Key = tuple[str, str, str]
"""A run, the digest of its conversation, and a scoring point."""


def set_of_journals(
    name: str,
    truths: Mapping[Key, str],
    journals: Iterable[tuple[Path, str | None]],
    files_of: Callable[[StoredRun], Path | None] = lambda run: None,
    damage: Damage | None = None,
    hard: Container[Key] = (),
) -> LabelledSet:
    """Return the labelled points of the runs in journals. The runs of one case are a cluster, and its name the kind.

    Args:
        name: The set's name.
        truths: The right labels; those of conversations that are not in the journals are passed over.
        journals: The folder of each journal, and the id of the only run in it to read, or None.
        files_of: Finds the agent's files of a run.
        damage: Counts the lines that had to be skipped.
        hard: The points that people labelled because they seemed hard to judge.

    Raises:
        SetupError: no labelled point is in the journals, or a case is not.
        JournalError: there is no journal.
    """
    runs = {run for run, _, _ in truths}
    found: dict[tuple[str, str], LabelledItem] = {}
    for folder, only in journals:
        for run in read_runs(folder, only, damage, wanted=runs.__contains__):
            conversation = conversation_digest(run.transcript)
            for item in _items(run, conversation, truths, files_of, hard):
                found.setdefault((run.id, conversation), item)
    if not found:
        shown = ", ".join(one_line(run, 60) for run in sorted(runs)[:3])
        raise SetupError(f"no labelled point is in these journals; the labels are of the runs {shown}.")
    return LabelledSet(name, tuple(found.values()))


def _items(
    run: StoredRun,
    conversation: str,
    truths: Mapping[Key, str],
    files_of: Callable[[StoredRun], Path | None],
    hard: Container[Key],
) -> Iterator[LabelledItem]:
    """Yield the run as an item; nothing if it has no case, or is not whole, so that exams do not judge it either."""
    if not run.ended or run.gap is not None or not run.setting.case_hash:
        return
    case = stored_case(run.folder, run.setting.case, run.setting.case_hash)
    by_models = [point for point in case.scoring_points if point.shown != "code"]
    points = tuple(
        LabelledPoint(each, truths[key], hard=key in hard)
        for each in by_models
        if (key := (run.id, conversation, each.id)) in truths
    )
    if points:
        files = files_of(run) if case.evidence else None
        yield LabelledItem(
            run.id, case.name, case, run.transcript, points, cluster=case.name, folder=run.folder, workspace=files
        )
