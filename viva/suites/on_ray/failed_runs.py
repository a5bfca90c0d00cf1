"""The record of a run that no node could do."""

from __future__ import annotations

from dataclasses import replace

from viva.exam.record import failed_record
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE, Transcript
from viva.suites.job import Job
from viva.suites.worker import Done

REMEDY = "If the agent ends its process or crashes it, use --isolate: each agent then has a process of its own."


def write_failure(journal: Journal, job: Job, attempt: int, node: str, error: str) -> Done:
    """Write the record of a run that ends as an error of the infrastructure."""
    header = replace(job.header, attempt=attempt, node=node)
    setting = Setting(
        case=header.subject,
        case_hash=job.case_hash,
        agent=header.agent,
        trial=header.trial,
        node=node,
        requeued=header.requeued,
        suite=header.suite,
    )
    record = failed_record(header, one_line(error, 1000), setting)
    journal.append("run", header.id, attempt, record)
    return Done(header, record, Transcript(), NO_USAGE)
