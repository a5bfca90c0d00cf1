"""`EvalCollector`: takes what happens in a session, whatever reports it, and sums it up task by task.

A kind of stream is a small function from one event to calls of the methods of `Intake`:
`viva/recordings/events/copilot.py` and its neighbours are such functions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from viva.recordings.events.intake import Intake, Task
from viva.recordings.events.tally import Tally, add, name_of
from viva.records.transcript import Metrics, StopReason, Transcript

EvalMetricsSnapshot = Metrics
"""What was counted so far, as the proposal calls it: an immutable `Metrics`."""


MOST_TASKS = 10_000
"""Earlier tasks whose figures are kept."""


class TaskSnapshot(NamedTuple):
    """The figures of one task."""

    task: str
    """Its label; empty for what was reported before the first task began."""
    metrics: EvalMetricsSnapshot


class Session(Protocol):
    """A session that reports its events: `copilot.CopilotSession` is one."""

    def on(self, handler: Callable[[Any], None], /) -> Callable[[], None]:
        """Call `handler` with each event. Returns a function that ends the subscription."""
        ...


class EvalCollector(Intake):
    """Sums up a session's events task by task. Threads may share one."""

    def __init__(
        self,
        *,
        capture_content: bool = False,
        source: str = "copilot",
        take: Callable[[EvalCollector, Any], None] | None = None,
    ) -> None:
        """Args:
        capture_content: Also keep what was said, and tools' arguments and results. Without it a transcript has names,
            ids, times and figures only.
        source: What transcripts name as their source.
        take: Maps one event to calls of this object's methods; None is that of Copilot's events.
        """
        super().__init__(capture_content=capture_content)
        if take is None:
            from viva.recordings.events.copilot import take_copilot_event

            take = take_copilot_event
        self.source = source
        self.session_id: str | None = None
        """The source's id of the session; None until it is known."""
        self._take = take
        self._unsubscribe: Callable[[], None] | None = None
        self._main: str | None = None
        """The name of the main agent, for streams in which all agents have names."""
        self._past: deque[tuple[str, Tally]] = deque(maxlen=MOST_TASKS)
        """Labels and counts of earlier tasks."""

    def attach(self, session: Session) -> EvalCollector:
        """Subscribe to a session's events with its own `on`.

        Raises:
            RuntimeError: the collector is already subscribed to a session.
        """
        if self._unsubscribe is not None:
            raise RuntimeError("this collector is attached to a session; detach() it first, or make another one.")
        name = getattr(session, "session_id", None)
        if isinstance(name, str):
            self.session_id = name
        self._unsubscribe = session.on(self.take)
        return self

    def detach(self) -> None:
        """End the subscription; what was collected stays. May be called twice."""
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()

    def take(self, event: Any) -> None:
        """Process one event. No event raises an exception; one that cannot be read is counted as unknown."""
        with self._lock:
            try:
                self._take(self, event)
            except Exception:
                add(self._task.tally.unknown, "event (unreadable)")

    def speaker(self, name: object) -> str | None:
        """Return the sub-agent of this name; None for the main agent, which is the first that is named.

        A sub-agent that is named for the first time has started: by the open call of the tool of its name, if there is
        one.
        """
        with self._lock:
            named = name_of(name)
            if self._main is None:
                self._main = named
            if named == self._main:
                return None
            if named not in self._subagents:
                by_tool = (call for call, (_, tool, _, _) in self._open.items() if tool == named)
                self.subagent_started(named, named, next(by_tool, None))
            return named

    @property
    def waits_for_tools(self) -> bool:
        """Whether tool calls have started and not completed."""
        with self._lock:
            return bool(self._open)

    def begin_task(self, label: str = "") -> None:
        """Begin a task. Everything that follows belongs to it, except tool calls that are already open."""
        with self._lock:
            if self._task.label or self._task.tally.metrics() != Metrics():  # not what precedes the first task
                self._past.append((self._task.label, self._task.tally))
            self._task = Task(label)

    @property
    def task(self) -> str:
        """The label of the current task."""
        return self._task.label

    def snapshot(self) -> EvalMetricsSnapshot:
        """Return the figures of the current task so far. They can be read from any thread, and never change."""
        with self._lock:
            return self._task.tally.metrics()

    def snapshots(self) -> tuple[TaskSnapshot, ...]:
        """Return the figures of all tasks so far, the current one last; a label that was used twice is there twice.

        A tool call that ends in a later task is in the figures of the task in which it started, as completed. Of more
        than 10,000 tasks, the newest are kept.
        """
        with self._lock:
            tasks = [*self._past, (self._task.label, self._task.tally)]
            return tuple(TaskSnapshot(label, tally.metrics()) for label, tally in tasks)

    def transcript(self) -> Transcript:
        """Return the current task as a transcript, with its metrics; texts are in it where they were captured."""
        with self._lock:
            task, metrics = self._task, self._task.tally.metrics()
            return Transcript(
                task.rounds.rounds(),
                source=self.source,
                system=task.system,
                stop=StopReason.FINISHED if task.stopped is None else StopReason.CANCELLED,
                stop_detail=task.stopped,
                notes=task.rounds.notes,
                usage={"target": metrics.usage},
                attributes={} if self.session_id is None else {"session_id": self.session_id},
                metrics=metrics,
                success=task.success,
            )
