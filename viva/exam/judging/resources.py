"""Builds what judging requires from the user's options: evaluators, their sandbox, their models and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from viva.cases import Case, CheckLimits
from viva.errors import SetupError
from viva.exam.given import NOTHING, Given
from viva.exam.judging.checks import check_jury, check_names, check_needs, no_case
from viva.exam.judging.references import References, load_references
from viva.exam.options import JudgeKind, Options
from viva.exam.requirements.dependencies import provide_dependencies
from viva.judge.exam.kinds import EXAM
from viva.judge.exchange.log import NotedModel
from viva.judge.loaded_evaluator import LoadedEvaluator
from viva.judge.registry import DEFAULT, NamedEvaluator, Need, find_evaluators, read_spec
from viva.judge.scoring_points.panel import NO_PANEL, JudgePanel, jury_name
from viva.models.model import Model
from viva.models.prices import Prices, parse_prices
from viva.models.roles import parse_role_limits
from viva.sandbox import Sandbox
from viva.sandbox.choice import choose
from viva.sandbox.limits import largest, limits_for

if TYPE_CHECKING:
    from viva.models.client import ModelClient

REVIEW_BY_JUDGE = "judge"
"""The value of `--exam-review` that stands for the judge's model."""


class JudgeNames(TypedDict):
    """The fields of a run's setting that say which models judge."""

    judge_model: str | None
    judge_models: tuple[str, ...]
    judge_votes: int


@dataclass(slots=True)
class JudgeResources:
    """Everything that judging requires. Close it after the last judgement."""

    kind: JudgeKind
    evaluators: Mapping[str, LoadedEvaluator]
    """The evaluators by their names in the options, the primary first."""
    sandbox: Sandbox | None = None
    model: ModelClient | None = None
    jury: tuple[ModelClient, ...] = ()
    """All models that vote on scoring points, of which `model` is the first; empty if no model judges."""
    votes: int = 1
    """Maximum number of votes of each on one scoring point."""
    backup_model: ModelClient | None = None
    review_model: ModelClient | None = None
    """The model that reviews exams; None if no review was requested."""
    exam: LoadedEvaluator | None = None
    """The evaluator of the examiner's conduct, for exams that a model examines; None if it was named in the options, or
    no model examines."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The hash of each prompt, by name."""
    references: References | None = None
    """Reference trajectories; None if none were given."""
    notices: Sequence[str] = ()
    """What the user should know before the exam begins."""

    @property
    def asks_models(self) -> bool:
        """Return whether a model judges or reviews anything."""
        return self.model is not None or self.review_model is not None

    @property
    def models(self) -> tuple[ModelClient, ...]:
        """Return all models, each once."""
        models = (self.model, *self.jury, self.backup_model, self.review_model)
        return tuple(dict.fromkeys(each for each in models if each is not None))

    @property
    def named_models(self) -> JudgeNames:
        """Return which models judge, as the setting of a run names them."""
        names = tuple(each.name for each in self.jury)
        return JudgeNames(
            judge_model=jury_name(names) if names else None,
            judge_models=names if len(names) > 1 else (),
            judge_votes=self.votes if names else 1,
        )

    async def close(self) -> None:
        """Release the sandbox and connections."""
        if self.sandbox is not None:
            await self.sandbox.close()
        for model in self.models:
            await model.close()


async def build_judge(
    options: Options,
    cases: Sequence[Case | None],
    examiner_model: ModelClient | None = None,
    given: Given = NOTHING,
) -> JudgeResources:
    """Build what judging runs of these cases requires.

    Args:
        options: The user's options.
        cases: The cases of the runs; None stands for runs without a case.
        examiner_model: The examiner's model; the judge uses the same client if both models have the same name.
        given: Evaluators that need not be looked up by name.

    Raises:
        SetupError: an evaluator requires something that was not given, or a case's dependencies cannot be installed.
        SandboxUnavailable: the requested sandbox is not available.
        SandboxError: the sandbox failed.
    """
    kind: JudgeKind = options.judge or "code"
    specs = options.evaluators or (DEFAULT,)
    named = find_evaluators(specs, given.evaluators)
    judges_exams = any(read_spec(each.spec)[0] == EXAM for each in named if each.spec not in given.evaluators)
    implied = examiner_model is not None and not judges_exams
    needs = {each.spec: each.needs(cases, kind) for each in named}
    papers = [case for case in cases if case is not None]
    specs_of_models = options.judge_models
    check_jury(specs_of_models)
    spec = specs_of_models[0] if specs_of_models else None
    references = None if options.reference is None else load_references(options.reference)
    check_needs(needs, cases, spec, kind, reference=references is not None)
    prices = parse_prices(options.prices)
    limits = parse_role_limits(options.max_output_tokens, options.model_seconds)
    model = backup = None
    jury: tuple[ModelClient, ...] = ()
    if spec and any(Need.MODEL in each for each in needs.values()):
        from viva.models.factory import make_model

        def client(name: str) -> ModelClient:
            if examiner_model is not None and name == (options.examiner_model or options.model):
                return examiner_model
            return make_model(name, calls=options.model_calls, prices=prices, cache=options.cache)

        jury = tuple(client(each) for each in specs_of_models)
        model = jury[0]
        if options.backup_model:
            backup = make_model(options.backup_model, calls=options.model_calls, prices=prices, cache=options.cache)
    review = _review_model(options, model, examiner_model, prices) if implied or judges_exams else None
    sandbox: Sandbox | None = None
    notices: list[str] = []
    if any(Need.SANDBOX in each for each in needs.values()):
        sandbox, notices = await _sandbox(options, papers)
    try:

        def made(each: NamedEvaluator) -> LoadedEvaluator:
            limited = [None if one is None else limits.limited(one, each.role) for one in (model, backup, review)]
            # Viva's own evaluators say what each of their questions is about.
            noted = limited if each.own else [None if one is None else NotedModel(one) for one in limited]
            panel = JudgePanel(tuple(limits.limited(one, each.role) for one in jury), options.votes)
            return each.make(_offered(options, kind, sandbox, panel, *noted))

        evaluators = {each.spec: made(each) for each in named}
        exam = made(find_evaluators((EXAM,))[0]) if implied else None
        check_names({**evaluators, EXAM: exam} if exam is not None else evaluators)
    except BaseException:
        if sandbox is not None:
            await sandbox.close()
        raise
    if options.exam_review and not (implied or judges_exams):
        notices.append("--exam-review has no effect: no model examines, and the evaluator exam was not named.")
    all_ = (*evaluators.values(), *([exam] if exam is not None else []))
    prompts = {name: digest for each in all_ for name, digest in each.prompts.items()}
    idle = [*(["--votes"] * (options.votes > 1)), *(["further --judge-model"] * (len(specs_of_models) > 1))]
    if idle and not _votes_on_points(needs):
        verb = "has" if idle == ["--votes"] else "have"
        why = _why_no_votes(specs, has_model=bool(specs_of_models))
        notices.append(f"{' and '.join(idle)} {verb} no effect: {why}.")
    return JudgeResources(
        kind, evaluators, sandbox, model, jury, options.votes, backup, review, exam, prompts, references, notices
    )


def _votes_on_points(needs: Mapping[str, frozenset[Need]]) -> bool:
    return any(Need.MODEL in each and read_spec(spec)[0] == DEFAULT for spec, each in needs.items())


def _why_no_votes(specs: Sequence[str], *, has_model: bool) -> str:
    if all(read_spec(spec)[0] != DEFAULT for spec in specs):
        return f"--evaluators does not name {DEFAULT}, whose verdicts are voted on"
    model = "" if has_model else " and --judge-model openai:NAME"
    beside = f"with --judge both{model}, models vote beside the code"
    return f"all points have eval_code or check, so no model judges them; {beside}"


def _review_model(
    options: Options, judge: ModelClient | None, examiner: ModelClient | None, prices: Prices
) -> ModelClient | None:
    """Return the model that reviews exams; None if no review was requested.

    Raises:
        SetupError: the judge's model is to review, and there is none.
    """
    if not options.exam_review:
        return None
    spec = options.exam_review
    if spec == REVIEW_BY_JUDGE:
        if judge is not None:
            return judge
        spec = next(iter(options.judge_models), "")
        if not spec:
            raise SetupError(
                "--exam-review judge requires the judge's model: add --model openai:NAME or --judge-model openai:NAME, "
                "or name a model of its own: --exam-review openai:NAME."
            )
    if examiner is not None and spec == (options.examiner_model or options.model):
        return examiner
    from viva.models.factory import make_model

    return make_model(spec, calls=options.model_calls, prices=prices, cache=options.cache)


def _offered(
    options: Options,
    kind: JudgeKind,
    sandbox: Sandbox | None,
    panel: JudgePanel,
    model: Model | None,
    backup: Model | None,
    review: Model | None,
) -> dict[str, object]:
    return {
        "judge_panel": panel,
        "kind": kind,
        "sandbox": sandbox,
        "model": model,
        "backup_model": backup,
        "review_model": review,
        "level": options.level,
        "screenshots": options.screenshots,
        "apis": options.apis,
        "session_config": options.session_config,
        "sandboxes": options.sandboxes,
        "asked_limits": _asked_limits(options),
        "match_arguments": options.match_arguments,
    }


def _asked_limits(options: Options) -> CheckLimits:
    return CheckLimits(seconds=options.check_seconds, memory_mb=options.check_memory_mb)


async def _sandbox(options: Options, cases: Sequence[Case]) -> tuple[Sandbox, list[str]]:
    at_once = min(options.concurrency, options.sandboxes)
    # The sandbox must fit the largest limits of all checks.
    checked = [case for case in cases if any(point.eval_code for point in case.scoring_points)]
    limits = largest(limits_for(case.check_limits, _asked_limits(options)) for case in checked)
    allow = options.allow_source_dependencies
    fresh = options.sandbox_fresh
    choice = await choose(options.sandbox, concurrency=at_once, limits=limits, allow_source=allow, fresh=fresh)
    try:
        await provide_dependencies(choice.sandbox, cases, at_once)
    except BaseException:
        await choice.sandbox.close()
        raise
    return choice.sandbox, [choice.note] if choice.note else []


def refuse_evaluators(named: Sequence[NamedEvaluator]) -> None:
    """Refuse evaluators that cannot judge runs without a case; what else they lack is reported when they are built.

    Raises:
        SetupError: one requires a case, declares an unknown requirement, or has a wrong signature.
    """
    offered = _offered(Options(), "code", None, NO_PANEL, None, None, None)
    for each in named:
        each.check(offered)
        if Need.CASE in each.needs((None,), "code"):
            raise no_case(each.spec)
