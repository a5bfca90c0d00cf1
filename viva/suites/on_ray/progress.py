"""How far a run has come in the journal, whichever workers had it, and what is left to do for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from viva.exam.judging.unfair import UnfairAttempt, attempts_so_far
from viva.journal.conversation_lines import read_conversation_lines
from viva.records.fault import Fault
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.suites.job import Action, Job
from viva.suites.worker import was_no_exam


@dataclass(slots=True)
class RunProgress:
    """What the workers have written of one run, all of them together."""

    unfair: tuple[UnfairAttempt, ...] = ()
    """The attempts so far in which the examiner was at fault."""
    attempt: int = 0
    """The newest attempt of which anything is in the journal; 0 if nothing is."""
    ended: bool = False
    """Whether the conversation of that attempt has ended, so that it need only be judged."""
    is_unfinished: bool = True
    """Whether that attempt has no record yet, or one after which the conversation is held again."""
    evaluators: tuple[str, ...] = ()
    """Those of the newest record."""

    def written(self, job: Job, attempt: int, value: Transcript | RunRecord | None) -> None:
        """Note that an event is in the journal.

        Args:
            job: The job that wrote it.
            attempt: Its attempt.
            value: What it holds, if it is the end of the conversation or the record.
        """
        if attempt > self.attempt:
            self.attempt, self.ended, self.is_unfinished = attempt, False, True
        if isinstance(value, Transcript):
            self.ended = value.ended and value.fault not in (Fault.EXAMINER, Fault.INFRA)
        elif isinstance(value, RunRecord):
            self.unfair, self.evaluators = attempts_so_far(value), value.setting.evaluators
            self.is_unfinished = job.action is not Action.JUDGE and was_no_exam(value)
            if self.is_unfinished:
                self.ended = False  # the worker was about to hold it again

    def next_job(self, first: Job, journal: Path) -> Job:
        """Return the job to do after a worker was lost or refused it. It reads the journal if it is only to be judged.

        Args:
            first: The job as it was given.
            journal: The journal's folder.
        """
        if first.action is Action.JUDGE or not self.attempt:
            return first
        if self.ended:
            lines = next(read_conversation_lines(journal, first.header.id))
            if lines.ended and lines.gap is None:
                return replace(
                    first,
                    action=Action.JUDGE,
                    header=replace(first.header, attempt=lines.attempt),
                    conversation=lines.without_judgements(),
                    carried=True,
                    unfair=tuple(each for each in self.unfair if each.attempt < lines.attempt),
                )
        # Never under a number that has been used: its rounds would be those of two conversations.
        return replace(first, header=replace(first.header, attempt=self.attempt + 1), unfair=self.unfair)
