"""Says in words how far the work on a journal is."""

from __future__ import annotations

from collections.abc import Iterator

from viva.adapters.connectors.spec import agent_label
from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.progress.state import duration
from viva.suites.at_work.status import FailedRun, RunningNow, State, WorkStatus

MOST_RUNNING = 12


def status_lines(status: WorkStatus) -> Iterator[str]:
    """Yield the lines, the most important first. All of them are safe to show."""
    yield f"{status.command or 'journal'} in {one_line(status.journal, 500)}: {_state(status)}"
    if status.part:
        yield status.part
    yield _ended(status)
    if pace := _pace(status):
        yield pace
    if status.requeued:
        yield f"{counted(status.requeued, 'run')} to be repeated"
    yield from _running(status)
    if status.failures:
        yield "not passed, the newest first:"
    for failure in status.failures:
        yield f"  {_failure(failure)}"


def _state(status: WorkStatus) -> str:
    if status.state is State.ENDED:
        return "ended"
    again = f"viva {status.command or 'suite'} --resume {one_line(status.journal, 500)}"
    if status.state is State.STOPPED:
        return f"stopped. To resume: {again}"
    paused = f"paused (viva resume {one_line(status.journal, 500)})"
    return f"{paused if status.state is State.PAUSED else 'at work'}, process {status.process}"


def _ended(status: WorkStatus) -> str:
    of = f" of {status.planned:,}" if status.planned else ""
    share = f" ({100 * status.ended / status.planned:.0f} %)" if status.planned else ""
    kinds = [f"{number:,} {name}" for name in ("passed", "failed", "excluded") if (number := status.statuses.get(name))]
    errors = [f"{number:,} {name}" for name, number in sorted(status.outcomes.items()) if name != "scored"]
    shown = ", ".join([*kinds, *([f"of these {', '.join(errors)}"] if errors else [])])
    return f"{status.ended:,}{of} {'run' if of == ' of 1' else 'runs'} ended{share}{f': {shown}' if shown else ''}"


def _pace(status: WorkStatus) -> str:
    if status.per_minute is None:
        return ""
    left = "" if status.seconds_left is None else f", about {duration(status.seconds_left)} left"
    return f"{status.per_minute:.3g} ended per minute{left if status.state is State.WORKING else ''}"


def _running(status: WorkStatus) -> Iterator[str]:
    if not status.running:
        return
    at_work = status.state in (State.WORKING, State.PAUSED)
    yield "now:" if at_work else "interrupted:"
    for run in status.running[:MOST_RUNNING]:
        yield f"  {_now(run)}"
    if (more := len(status.running) - MOST_RUNNING) > 0:
        yield f"  and {counted(more, 'more run')}"


def _now(run: RunningNow) -> str:
    trial = f", trial {run.trial}" if run.trial > 1 else ""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    stage = "judging" if run.judging else f"round {run.rounds + 1}"
    return f"{one_line(run.case or run.run, 70)} · {agent_label(run.agent)}{trial}{attempt}: {stage}"


def _failure(failure: FailedRun) -> str:
    score = "" if failure.score is None else f" {failure.score:.2f}"
    how = failure.outcome if failure.outcome != "scored" else failure.status
    why = f": {failure.why}" if failure.why else ""
    return f"{one_line(failure.run, 100)} · {agent_label(failure.agent)} {one_line(how, 40)}{score}{why}"
