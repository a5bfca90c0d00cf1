"""`EvalSuite`: a dataset of prompts, each in a fresh session, run by the same engine as `viva suite`."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case, ScriptLine
from viva.errors import SetupError
from viva.exam.given import Given
from viva.exam.options import Options
from viva.journal.paths import new_journal_folder, refuse_journal
from viva.judge.success import SuccessPredicate
from viva.observe.eval_suite_result import EvalCaseResult, EvalSuiteResult, result_of
from viva.observe.options import EvalOptions, checked_options
from viva.observe.session_agent import OpenSession, session_agent
from viva.observe.suite_evaluators import suite_evaluators
from viva.records.codec import encode
from viva.records.history import EvalHistorySource
from viva.records.sink import Sink
from viva.records.text import one_line
from viva.suites.conduct import Silence, Surroundings
from viva.suites.engine import LocalEngine
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite

MAX_CONCURRENCY = 4
TIMEOUT = 300.0
LOG = logging.getLogger("viva")

__all__ = ["EvalCase", "EvalCaseResult", "EvalSuite", "EvalSuiteResult"]


@dataclass(frozen=True, slots=True)
class EvalCase:
    """One prompt of a dataset."""

    name: str
    """Unique within its suite; the task's label in records and history."""
    prompt: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of `client.create_session` for this case."""
    success: SuccessPredicate | None = None
    """Decides by the transcript and its metrics whether the run succeeded. Without it, the session's own statement
    counts, if there is one."""
    tags: tuple[str, ...] = ()


class Client(Protocol):
    """Opens sessions: `copilot.CopilotClient` is one."""

    def create_session(self, **config: Any) -> Awaitable[Any]:
        """Open a session."""
        ...


class EvalSuite:
    """Runs each case of a dataset in a session of its own."""

    def __init__(
        self,
        cases: Iterable[EvalCase],
        client: Client | OpenSession,
        options: EvalOptions | None = None,
        *,
        max_concurrency: int = MAX_CONCURRENCY,
        timeout: float = TIMEOUT,
    ) -> None:
        """Args:
        cases: The dataset.
        client: A client of the SDK's, or a function from an `EvalCase` to a session, plain or async. A session has
            `on`, `send_and_wait` and, where it must be closed, `disconnect`.
        options: Sinks, evaluators, and whether texts are captured; a suite runs whether or not it is enabled.
        max_concurrency: Maximum number of concurrent sessions.
        timeout: Seconds that one case may take.

        Raises:
            SetupError: there is no case, two have the same name, or a limit is invalid.
        """
        self.cases = _checked_cases(cases)
        self._options = EvalOptions() if options is None else checked_options(options, "viva.EvalSuite()")
        _check_limits(max_concurrency, timeout)
        self._max_concurrency, self._timeout = max_concurrency, timeout
        self._open = _opener(client)

    async def run(self, out: str | Path | None = None) -> EvalSuiteResult:
        """Run all cases.

        Args:
            out: The folder of the journal; None means a new one under `runs/` in the working directory.

        Raises:
            SetupError: something must be changed first; nothing was run.
            JournalError: the journal cannot be written.
        """
        folder = (
            Path(self._options.working_directory, new_journal_folder(None, "eval-suite")) if out is None else Path(out)
        )
        folder = folder.absolute()
        refuse_journal(folder)
        by_name = {case.name: case for case in self.cases}
        agent = session_agent(self._open, by_name, self._timeout, capture_content=self._options.capture_content)
        sinks = self._options.make_sinks()
        names, evaluators = suite_evaluators(self._options, by_name, agent, _history(self._options, sinks))
        papers = {f"{case.name} (made in Python)": _paper(case, self._timeout) for case in self.cases}
        spec = self._options.agent or "copilot"
        options = self._exam_options(names)
        request = SuiteRequest(command="suite", paths=tuple(papers), agents=(spec,), options=options)
        loaded = LoadedAgent(spec, spec, agent, self._options.agent_version)
        around = Surroundings(
            _Logged(),
            sinks,
            engine=LocalEngine(given=Given(agents={spec: loaded}, evaluators=evaluators)),
        )
        end = await run_suite(request, folder, around, given=papers)
        return result_of(folder, self.cases, end)

    def _exam_options(self, evaluators: tuple[str, ...]) -> Options:
        return Options(
            evaluators=evaluators,
            judge_model=self._options.model,
            examiner="script",
            max_rounds=1,
            reply_seconds=self._timeout,
            concurrency=self._max_concurrency,
            attempts=1,
        )


def _history(options: EvalOptions, sinks: Sequence[tuple[str, Sink]]) -> EvalHistorySource | None:
    """Return the runs to compare with. The suite's journal is new, so earlier runs are where a sink sent them."""
    if options.history is not None:
        return options.history
    found = (sink for _, sink in sinks if inspect.iscoroutinefunction(getattr(sink, "runs", None)))
    return cast("EvalHistorySource | None", next(found, None))


def _checked_cases(cases: Iterable[EvalCase]) -> tuple[EvalCase, ...]:
    """Return the cases of a suite.

    Raises:
        SetupError: there is none, one is something else or has no text, or two have the same name.
    """
    is_list = isinstance(cases, Iterable) and not isinstance(cases, str | bytes | Mapping)
    given = tuple(cases) if is_list else ()
    if not is_list or not all(isinstance(case, EvalCase) for case in given):
        raise SetupError(f"viva.EvalSuite(): cases must be several EvalCase, not {one_line(repr(cases), 80)}.")
    if not given:
        raise SetupError("there is no case to run.")
    if not all(isinstance(words, str) and words.strip() for case in given for words in (case.name, case.prompt)):
        raise SetupError("every case must have a name and a prompt, which are texts.")
    names = Counter(case.name for case in given)
    for name, count in names.most_common(1):
        if count > 1:
            raise SetupError(f"two cases are called {name!r}: give one another name.")
    return given


def _check_limits(max_concurrency: object, timeout: object) -> None:
    whole = isinstance(max_concurrency, int) and not isinstance(max_concurrency, bool)
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not whole or not number or max_concurrency < 1 or not timeout > 0:  # type: ignore[operator]
        raise SetupError("max_concurrency must be a whole number, at least 1, and timeout above 0 seconds.")


def _opener(client: Client | OpenSession) -> OpenSession:
    create = getattr(client, "create_session", None)
    if create is not None:

        async def open_session(case: EvalCase) -> Any:
            return await create(**case.config)

        return open_session
    if not callable(client):
        raise SetupError(
            f"{client!r:.80} cannot open a session: it must have create_session, or be a function "
            "from a case to a session."
        )
    return client


def _paper(case: EvalCase, timeout: float) -> Case:
    """The case as the engine knows it: one scripted message, and no scoring points."""
    paper = Case(
        name=case.name,
        file=Path(f"{hashlib.sha256(case.name.encode()).hexdigest()[:16]}.yaml"),
        hash="",
        task_description=case.prompt,
        scoring_points=(),
        script=(ScriptLine(case.prompt),),
        config_var={"eval_case": case.name},
        max_rounds=1,
        tags=case.tags,
    )
    return replace(paper, hash=hashlib.sha256(encode(paper)).hexdigest())


class _Logged(Silence):
    """Logs notes to the user."""

    def note(self, words: str) -> None:
        LOG.warning("%s", one_line(words, 1000))

    def warn(self, words: str) -> None:
        LOG.warning("%s", one_line(words, 1000))
