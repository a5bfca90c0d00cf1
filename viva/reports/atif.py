"""ATIF: one trajectory for each run as JSON Lines, in the Agent Trajectory Interchange Format."""

from __future__ import annotations

import json
from typing import TextIO

from viva.recordings.atif.writer import to_atif
from viva.records.codec import to_plain
from viva.reports.journals import Journals


def write(journals: Journals, out: TextIO) -> None:
    """Write one trajectory on each line; a run in which nothing was said or done is left out.

    Outcome, score and insights are in `extra.viva` of the trajectory.

    Raises:
        JournalError: a journal cannot be read.
    """
    for stored in journals.conversations():
        about: dict[str, object] = {"run": stored.id, "subject": stored.setting.case, "trial": stored.setting.trial}
        if stored.record is not None:
            record = stored.record
            about |= {"outcome": record.outcome.value, "score": record.score}
            about["insights"] = [to_plain(insight) for insight in record.insights]
        trajectory = to_atif(
            stored.transcript,
            agent=stored.setting.agent or "unknown",
            version=stored.setting.agent_version,
            session=stored.id,
            extra={"viva": about},
        )
        if trajectory is not None:
            out.write(json.dumps(trajectory) + "\n")
