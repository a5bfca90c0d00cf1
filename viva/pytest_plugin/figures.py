"""The figures of each agent at the end of a session with several."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from viva.journal.reader import read_records
from viva.records.wording import counted
from viva.statistics.groups import Group
from viva.statistics.summary import summarize


def figures_by_agent(folder: Path, runs: Container[str], labels: Mapping[str, str], threshold: float) -> Iterator[str]:
    """Yield a line with the figures of each agent, over these runs of the journal.

    Raises:
        JournalError: the journal cannot be read.
    """
    figures = summarize((record for record in read_records(folder, quick=True) if record.id in runs), threshold)
    groups = {group.name: group for group in figures.agents}
    for spec, label in labels.items():
        if spec in groups:
            yield _agent_line(label, groups[spec])


def _agent_line(label: str, group: Group) -> str:
    spread = group.mean_interval
    mean = "no score" if group.mean is None else f"mean score {group.mean:.2f}"
    between = f" (95 % interval {spread.low:.2f}-{spread.high:.2f})" if spread is not None else ""
    left_out = sum(group.excluded.values())
    excluded = f", {left_out} excluded" if left_out else ""
    return f"{label}: {group.passes} of {counted(group.runs, 'run')} passed, {mean}{between}{excluded}"
