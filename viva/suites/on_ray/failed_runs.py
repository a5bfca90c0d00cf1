"""The record of a run that no node could do."""

from __future__ import annotations

from dataclasses import replace

from viva.exam.record import failed_record
from viva.journal.writer import Journal
from viva.records.redact import redacted_line
from viva.records.run_record import Setting
from viva.records.transcript import NO_USAGE, Transcript
from viva.suites.job import Job
from viva.suites.on_ray.progress import RunProgress
from viva.suites.worker import Done

REMEDY = "If the agent ends its process or crashes it, use --isolate: each agent then has a process of its own."


def write_failure(journal: Journal, job: Job, progress: RunProgress, node: str, error: str) -> Done:
    """Write the record of a run that ends as an error of the infrastructure."""
    attempt = max(job.header.attempt, progress.attempt)
    if any(each.attempt == attempt for each in progress.unfair):
        attempt += 1  # that one has its record, and the next was lost before its first event
    header = replace(job.header, attempt=attempt, node=node)
    setting = Setting(
        case=header.subject,
        case_hash=job.case_hash,
        agent=header.agent,
        evaluators=progress.evaluators,
        trial=header.trial,
        node=node,
        requeued=header.requeued,
        suite=header.suite,
        unfair_attempts=job.untold,
    )
    record = failed_record(header, redacted_line(error, 1000), setting, progress.unfair)
    journal.append("run", header.id, attempt, record)
    return Done(header, record, Transcript(), NO_USAGE)
