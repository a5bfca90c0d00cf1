"""Chooses who examines: the script of a case, a model, either of them by case, or the questions of a stored run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from viva.adapters.connectors.replay import stored_run
from viva.cases import Case
from viva.errors import SetupError
from viva.exam.options import Options
from viva.examiner import Examiner, ReplayedExaminer, ScriptedExaminer
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits
from viva.records.text import one_line

if TYPE_CHECKING:
    from viva.models.client import ModelClient

ExaminerFactory = Callable[[Case, str, str], Examiner]
"""Makes the examiner of one conversation of a case, with a persona and a strategy (empty for the case's own)."""
SCRIPT, MODEL, AUTO, REPLAY = "script", "model", "auto", "replay"
"""The values of `--examiner`; a journal follows the last, after a colon."""


@dataclass(frozen=True, slots=True)
class ChosenExaminer:
    """Who examines the cases of a plan."""

    make: ExaminerFactory | None
    """Makes the examiner of one conversation; None if each run brings its own questions."""
    name: str = REPLAY
    """Its name in records: `script`, `replay`, or the model's."""
    model: ModelClient | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The hash of its prompt."""
    prefers_scripts: bool = False
    """Whether it is used only for cases without a script."""


def choose_examiner(options: Options, cases: Sequence[Case]) -> ChosenExaminer:
    """Choose who examines these cases.

    Raises:
        SetupError: the choice is unknown, requires a model that was not given or a script that a case does not have, or
            the stored questions belong to another case.
    """
    spec = options.examiner_model or options.model
    kind = options.examiner or (MODEL if spec else SCRIPT)
    _refuse_variants_without_model(options, kind, cases)
    if kind.startswith(f"{REPLAY}:"):
        return _replayed(kind, cases)
    if kind not in (SCRIPT, MODEL, AUTO):
        raise SetupError(f"--examiner takes script, model, auto or replay:JOURNAL, not {kind!r}.")
    without_script = [case for case in cases if not case.script]
    if kind == SCRIPT or (kind == AUTO and not (spec and without_script)):
        for case in without_script:
            raise SetupError(
                f"the case {case.name!r} has no script, so a model must examine: add --model openai:NAME "
                "(or write a script into the case; see `viva docs write-a-case`)."
            )
        return ChosenExaminer(_scripted, SCRIPT)
    if not spec:
        raise SetupError("--examiner model requires a model: add --model openai:NAME or --examiner-model openai:NAME.")
    return _of_model(spec, options, cases, prefers_scripts=kind == AUTO)


def _refuse_variants_without_model(options: Options, kind: str, cases: Sequence[Case]) -> None:
    """Check that a model examines all cases if there are personas or strategies to play.

    Raises:
        SetupError: a script or stored questions would examine.
    """
    given = [flag for flag, names in (("--persona", options.personas), ("--strategy", options.strategies)) if names]
    scripted = [case.name for case in cases if case.script]
    if not given or kind == MODEL or (kind == AUTO and not scripted):
        return
    why = f"the script of the case {scripted[0]!r} examines" if kind == AUTO else f"--examiner is {kind}"
    raise SetupError(
        f"{' and '.join(given)} {'requires' if len(given) == 1 else 'require'} a model as examiner, but {why}: add "
        "--examiner model, and --model openai:NAME."
    )


def with_chosen_names(options: Options, *, several: bool = True) -> Options:
    """Return the options with the names of personas and strategies for which `all` stands.

    Args:
        options: As given.
        several: Whether there may be more than one of each, as in a suite.

    Raises:
        SetupError: a name is not in the library, or there are several for one exam.
    """
    if not options.personas and not options.strategies:
        return options
    from viva.examiner.library import chosen_names  # reads the library, which other exams do not require

    personas = chosen_names("persona", options.personas)
    strategies = chosen_names("strategy", options.strategies)
    for flag, names in (("--persona", personas), ("--strategy", strategies)):
        if len(names) > 1 and not several:
            raise SetupError(f"{flag} names {len(names)}, but this is one exam. To test with several, use a suite.")
    return replace(options, personas=personas, strategies=strategies)


def notices_about_goals(options: Options, cases: Sequence[Case]) -> list[str]:
    """Return a notice if strategies were chosen for cases that do not say what the examiner should try to get."""
    without = [case.name for case in cases if case.strategy is None or case.strategy.goal is None]
    if not options.strategies or not without:
        return []
    which = f"{one_line(without[0], 60)} and {len(without) - 1} more" if len(without) > 1 else one_line(without[0], 60)
    words = f"no goal for --strategy in {which}: the examiner tries to have any rule broken there"
    return [f"{words}; write a goal into the case (`viva docs write-a-case`)"]


def library_hashes(persona: str, strategy: str) -> Mapping[str, str]:
    """Return the hashes of the libraries from which an examiner has its persona and its strategy."""
    if not persona and not strategy:
        return {}
    from viva.examiner.library import PERSONAS, STRATEGIES
    from viva.models.prompts import digest

    files = {"personas": PERSONAS if persona else None, "strategies": STRATEGIES if strategy else None}
    return {name: digest(file) for name, file in files.items() if file is not None}


def _scripted(case: Case, persona: str = "", strategy: str = "") -> Examiner:
    return ScriptedExaminer(case.script)


def _replayed(kind: str, cases: Sequence[Case]) -> ChosenExaminer:
    stored = stored_run(kind.removeprefix(f"{REPLAY}:"))
    of = stored.setting.case
    for case in cases:
        # The stored run may be a recording, which names no case.
        if of and case.name != of:
            raise SetupError(f"the questions of {kind} belong to the case {of!r} and cannot be used for {case.name!r}.")
    return ChosenExaminer(lambda case, persona, strategy: ReplayedExaminer(stored.transcript))


def _of_model(spec: str, options: Options, cases: Sequence[Case], *, prefers_scripts: bool) -> ChosenExaminer:
    from viva.models.factory import make_model

    limits = parse_role_limits(options.max_output_tokens, options.model_seconds)
    model = make_model(spec, calls=options.model_calls, prices=parse_prices(options.prices), cache=options.cache)
    # Imported here, because only a model requires AutoGen, and after the mistakes that are known without it.
    from viva.examiner.model import PROMPT, ModelExaminer
    from viva.examiner.role import refuse_unknown_names, role_of
    from viva.models.prompts import digest

    for case in cases:
        refuse_unknown_names(case)

    def make(case: Case, persona: str = "", strategy: str = "") -> Examiner:
        if prefers_scripts and case.script:
            return _scripted(case)
        return ModelExaminer(limits.limited(model, "examiner"), role_of(case, persona, strategy))

    return ChosenExaminer(make, model.name, model, {"examiner": digest(PROMPT)}, prefers_scripts)
