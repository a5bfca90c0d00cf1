"""One attempt at a run: its identity, what it requires, where it is stored, and its setting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viva.cases import Case
from viva.exam.forking.fork import Fork
from viva.exam.judging.unfair import UnfairAttempt
from viva.exam.resources import Resources
from viva.exam.subscribers import RunHeader
from viva.exam.versions import versions
from viva.journal.writer import JournalWriter
from viva.judge.loaded_evaluator import LoadedEvaluator, parameters_of_all
from viva.records.copies import changed
from viva.records.history import EvalHistorySource
from viva.records.run_record import Setting
from viva.version import viva_version


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamRun:
    """One attempt at a run: its identity, what it requires, and where it is stored."""

    header: RunHeader
    resources: Resources
    journal: JournalWriter
    folder: Path
    """The folder with the journal's workspaces, images and texts; absolute, because an agent may change the working
    directory."""
    case: Case | None = None
    """None for a recording that is judged without one."""
    evaluators: tuple[LoadedEvaluator, ...] = ()
    """The primary first."""
    history: EvalHistorySource | None = None
    """Earlier runs, for evaluators that compare."""
    fork: Fork | None = None
    """The point from which a stored conversation is continued."""
    earlier: tuple[UnfairAttempt, ...] = ()
    """Earlier attempts at this run in which the examiner was at fault."""

    def append(self, kind: str, value: object) -> None:
        """Append one event of this run to the journal."""
        self.journal.append(kind, self.header.id, self.header.attempt, value)


def setting_for(run: ExamRun, workspace: str) -> Setting:
    """Return the setting of a run, before its first message."""
    case, header, sandbox = run.case, run.header, run.resources.judge.sandbox
    assert case is not None
    # All trials have the same but for this, and making it takes as long as a round.
    facts = None if sandbox is None else (sandbox.name, sandbox.isolates)
    who = header.agent, header.persona, header.strategy, header.requeued, header.suite, header.agent_version
    key, known = (id(case), id(run.evaluators), who, facts), run.resources.settings
    found = known.get(key)
    if found is None or found[0] is not case or found[1] is not run.evaluators:
        if len(known) >= MOST_SETTINGS:
            known.clear()
        found = known[key] = case, run.evaluators, _setting_of_all(run, case)
    setting = changed(found[2], workspace=workspace, trial=header.trial)
    return setting if run.fork is None else changed(setting, forked_from=run.fork.origin)


MOST_SETTINGS = 256
"""Maximum number of settings that are kept for further trials."""


def _setting_of_all(run: ExamRun, case: Case) -> Setting:
    """Return what the settings of all trials of a case have."""
    resources = run.resources
    agent = resources.agents.get(run.header.agent)
    limits, judge = resources.limits(case), resources.judge
    persona, strategy = resources.played_by(case, run.header.persona, run.header.strategy)
    return Setting(
        viva=viva_version(),
        node=resources.node,
        case=case.name,
        case_file=str(case.file),
        case_hash=case.hash,
        agent=run.header.agent,
        in_process=agent is not None and agent.kind == "python",
        agent_digest=None if agent is None else agent.digest,
        app_dir=resources.options.app_dir or case.app_dir,
        examiner=resources.examiner_of(case),
        persona=persona,
        strategy=strategy,
        judge=judge.kind,
        **judge.named_models,
        evaluators=tuple(each.name for each in run.evaluators),
        evaluator_parameters=parameters_of_all(run.evaluators),
        sandbox=judge.sandbox.name if judge.sandbox else None,
        sandbox_isolates=judge.sandbox.isolates if judge.sandbox else None,
        check_seconds=resources.options.check_seconds,
        check_memory_mb=resources.options.check_memory_mb,
        max_output_tokens=dict(resources.role_limits.output_tokens),
        model_seconds=dict(resources.role_limits.seconds),
        cache=resources.options.cache or "",
        threshold=case.threshold,
        max_rounds=limits.max_rounds,
        reply_seconds=limits.reply_seconds,
        run_seconds=limits.run_seconds,
        requeued=run.header.requeued,
        suite=run.header.suite,
        agent_version=run.header.agent_version,
        prompts=resources.prompts_of(case, persona, strategy),
        versions=versions(),
    )
