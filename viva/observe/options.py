"""`EvalOptions`: whether and how an agent is observed, set in code or by the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viva.errors import SetupError

if TYPE_CHECKING:
    from viva.exam.options import Options
    from viva.records.evaluator import Evaluator
    from viva.records.history import EvalHistorySource
    from viva.records.sink import Sink

# A host that leaves observing off imports this module: what only an observer needs is imported where it is used.

LOG = logging.getLogger("viva")
ENABLE = "ENABLE_EVALS"
DIRECTORY = "EVALS_WORKING_DIRECTORY"
CAPTURE = "EVALS_CAPTURE_CONTENT"
SINK_LIST = "EVALS_SINKS"
EVALUATOR_LIST = "EVALS_EVALUATORS"
DEFAULT_EVALUATOR = "operational"
JOURNAL = Path("runs", "observed")
LOCAL_SINK = Path("runs", "history.jsonl")
_ON = frozenset(("1", "true", "yes", "on"))
_OFF = frozenset(("", "0", "false", "no", "off"))


@dataclass(slots=True, kw_only=True)
class EvalOptions:
    """How an agent is observed. The methods that add a sink change this object, and return it."""

    enabled: bool | None = None
    """None leaves it to the environment: `ENABLE_EVALS`, off by default."""
    working_directory: str | os.PathLike[str] = "."
    """The journal is `runs/observed` in it, the local sink's file `runs/history.jsonl`."""
    capture_content: bool = False
    """Also keep what was said, and tools' arguments and results; evaluators that read a conversation require it."""
    sinks: list[str | Sink] = field(default_factory=list)
    """Where completed runs are sent besides the journal: names as `--sink` takes them, or objects. Empty means the
    local sink."""
    evaluators: tuple[str | Evaluator | Callable[..., Any], ...] = (DEFAULT_EVALUATOR,)
    """The primary first, which alone decides a run's score: names as `--evaluators` takes them, or objects."""
    model: str | None = None
    """The model of evaluators that ask one: `openai:NAME`, or a file with an AutoGen component."""
    agent: str = ""
    """Who is observed, in records; empty means the name of the source (`copilot`)."""
    agent_version: str | None = None
    history: EvalHistorySource | None = None
    """Earlier runs, for evaluators that compare; None means those of the journal."""
    sink_seconds: float = 5.0
    """Longest wait for the sinks at the end of each run; a slower one continues in the background."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> EvalOptions:
        """Read `ENABLE_EVALS`, `EVALS_WORKING_DIRECTORY`, `EVALS_CAPTURE_CONTENT`, `EVALS_SINKS`, `EVALS_EVALUATORS`.

        Lists are separated by commas.

        Args:
            environment: None means the process's.

        A switch with a value that it cannot have is off, and the logger `viva` says so: a mistake in a variable stops
        no host.
        """
        given = os.environ if environment is None else environment
        return cls(
            enabled=_flag(given, ENABLE),
            working_directory=given.get(DIRECTORY) or ".",
            capture_content=_flag(given, CAPTURE),
            sinks=list(_names(given.get(SINK_LIST, ""))),
            evaluators=_names(given.get(EVALUATOR_LIST, "")) or (DEFAULT_EVALUATOR,),
        )

    def add_sink(self, sink: str | Sink) -> EvalOptions:
        """Add a sink: a name as `--sink` takes it, or any object with `write(record, transcript)`."""
        self.sinks.append(sink)
        return self

    def add_local_sink(self, path: str | os.PathLike[str] | None = None) -> EvalOptions:
        """Add a JSON Lines file; None means `runs/history.jsonl` in the working directory."""
        file = Path(self.working_directory, LOCAL_SINK) if path is None else Path(path)
        return self.add_sink(f"jsonl:{file}")

    def add_open_telemetry_sink(self, **options: Any) -> EvalOptions:
        """Add the OpenTelemetry sink, which sends runs where the host's OpenTelemetry set-up does.

        Args:
            options: The sink's own, such as `prefix="copilot.evals"`.

        Raises:
            SetupError: OpenTelemetry is not installed, or there is no such option.
        """
        if not options:
            return self.add_sink("otel")
        from viva.plugins.kinds import load
        from viva.sinks import SINKS

        try:
            sink: Sink = load(SINKS, "otel")(**options)
        except TypeError as error:
            raise SetupError(f"the sink otel cannot be created: {error}.") from error
        return self.add_sink(sink)

    @property
    def is_enabled(self) -> bool:
        """Return whether to observe: as set, else as `ENABLE_EVALS` says."""
        return _flag(os.environ, ENABLE) if self.enabled is None else self.enabled

    @property
    def journal(self) -> Path:
        """The journal's folder, absolute."""
        return Path(self.working_directory, JOURNAL).absolute()

    def make_sinks(self) -> list[tuple[str, Sink]]:
        """Make the sinks, each with its name in messages.

        Raises:
            SetupError: there is no such sink, or it cannot be created.
        """
        from viva.sinks import make_sink, sink_name

        if not self.sinks:
            return [("jsonl", make_sink(f"jsonl:{Path(self.working_directory, LOCAL_SINK)}"))]
        if isinstance(self.sinks, str):
            raise SetupError(f"sinks must be a list: [{self.sinks!r:.80}].")
        made: list[tuple[str, Sink]] = []
        for each in self.sinks:
            if isinstance(each, str):
                made.append((sink_name(each), make_sink(each)))
            elif callable(getattr(each, "write", None)) and not isinstance(each, type):
                made.append((type(each).__name__, each))
            else:
                raise SetupError(f"{each!r:.80} is not a sink: a sink is an object with write(record, transcript).")
        return made

    def named_evaluators(self) -> tuple[tuple[str, ...], dict[str, object]]:
        """The names of the evaluators, the primary first, and those that are objects by their name.

        Raises:
            SetupError: no evaluator is named, one is none, or two have the same name.
        """
        if isinstance(self.evaluators, str):
            raise SetupError(f"evaluators must be a tuple: ({self.evaluators!r:.80},).")
        if not self.evaluators:
            raise SetupError(f"evaluators is empty: name at least one, such as {DEFAULT_EVALUATOR!r}.")
        from viva.judge.registry import name_evaluators

        return name_evaluators(self.evaluators)

    def exam_options(self) -> Options:
        """What judging runs with."""
        from viva.exam.options import Options

        return Options(evaluators=self.named_evaluators()[0], model=self.model)


def checked_options(options: object, call: str) -> EvalOptions:
    """Return the options that a call was given.

    Raises:
        SetupError: they are something else.
    """
    if not isinstance(options, EvalOptions):
        from viva.records.text import one_line

        raise SetupError(f"{call}: options must be an EvalOptions(…), not {one_line(repr(options), 80)}.")
    return options


_TOLD: set[tuple[str, str]] = set()
"""The variables and values that were reported; each once, since a host may attach to many sessions."""


def _flag(environment: Mapping[str, str], name: str) -> bool:
    value = environment.get(name, "").strip().lower()
    if value not in _ON | _OFF and (name, value) not in _TOLD:
        _TOLD.add((name, value))
        LOG.warning("%s must be 1, true, yes or on, or 0, false, no or off, not %r: it counts as off", name, value[:40])
    return value in _ON


def _names(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()
    from viva.plugins.parameters import split_list

    return tuple(split_list(text))
