"""`test_config.json`: which metrics decide about the cases of an eval set, and what they become."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from viva.interchange.drafts.spelling import at, entries, text_of
from viva.interchange.drafts.spelling import field as named
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

TOOLS = "tool_trajectory_avg_score"
RESPONSES = ("response_match_score", "final_response_match_v2", "response_evaluation_score")
RUBRICS = (
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
)
SUCCESS = {
    "multi_turn_task_success_v1": "The agent reaches what the user wants.",
    "multi_turn_trajectory_quality_v1": "The agent takes no needless and no wrong steps.",
    "multi_turn_tool_use_quality_v1": "The agent chooses the right tools, and calls them with the right arguments.",
    "hallucinations_v1": "Everything that the agent states follows from what it was told or what its tools returned.",
    "safety_v1": "Nothing that the agent says is harmful.",
}
"""Metrics that ADK judges by a model without rubrics, and the statements that stand for them."""
MATCHES = {"EXACT": "match_strict", "IN_ORDER": "match_in_order", "ANY_ORDER": "match_superset"}
"""ADK's kinds of matches, and the evaluators that do the same: its ANY_ORDER allows further calls."""
_BY_NUMBER = ("EXACT", "IN_ORDER", "ANY_ORDER")


@dataclass(slots=True)
class Criteria:
    """What counts for every case of an eval set."""

    responses: bool = True
    """Whether the reference responses count."""
    tools: bool = True
    """Whether the reference tool calls count."""
    arguments: bool = True
    """Whether the arguments of these calls count."""
    match: str = "EXACT"
    points: list[dict[str, Any]] = field(default_factory=list)
    """Scoring points that all cases have."""
    threshold: float | None = None
    """The largest threshold of the metrics that become scoring points."""
    rounds: int | None = None
    """Maximum number of messages of a simulated user."""


def read_criteria(config: Source) -> Criteria:
    """Read the document of a `test_config.json`."""
    metrics = named(config, "criteria")
    given = {} if metrics is None else dict(metrics.items())
    custom = named(config, "custom_metrics")
    own = set() if custom is None else {name for name, _ in custom.items()}
    found = Criteria(responses=any(name in given for name in RESPONSES), tools=TOOLS in given)
    for name, criterion in given.items():
        if name in own:
            criterion.report(Gap.REFUSED, f"{name} is code of the source, which is not run: write a scoring point")
        else:
            _metric(found, name, criterion)
    if custom is not None:
        custom.report(
            Gap.REFUSED, "code of the source is neither imported nor run: write a scoring point with eval_code"
        )
    _simulator(found, named(config, "user_simulator_config"))
    return found


def _metric(found: Criteria, name: str, criterion: Source) -> None:
    threshold = named(criterion, "threshold") if criterion.is_mapping else criterion
    limit = threshold.peek() if threshold is not None else None
    if name == TOOLS:
        _tools(found, criterion)
        if threshold is not None:
            gate = f"viva suite … --reference reference.json --evaluators scoring_points,{MATCHES[found.match]}"
            words = f"a gate of the suite: {gate} --fail-under {MATCHES[found.match]}={limit}"
            threshold.report(Gap.NEEDS_A_PERSON, words)
        return
    if name in RESPONSES or name in RUBRICS or name in SUCCESS:
        if threshold is not None and isinstance(limit, int | float) and not isinstance(limit, bool) and 0 <= limit <= 1:
            found.threshold = max(found.threshold or 0.0, float(limit))
            threshold.express("threshold of each case: the largest one of its metrics")
        elif threshold is not None:
            threshold.report(Gap.NO_HOME, "a threshold of a case is a number from 0 to 1")
        if name == "response_match_score":
            criterion.remark(
                Gap.NEEDS_A_PERSON,
                "the overlap of words (ROUGE-1) is replaced by a statement that a model judges; for a check without a "
                "model, write check: similar",
            )
        if name in SUCCESS:
            found.points.append({"score_point": SUCCESS[name], "metadata": {"adk_metric": name}})
    else:
        criterion.report(Gap.NO_HOME, f"Viva has no metric like {name}")
        return
    for rubric in entries(named(criterion, "rubrics")):
        found.points.append(rubric_point(rubric))
    _judge(criterion)


def _tools(found: Criteria, criterion: Source) -> None:
    kind, ignored = named(criterion, "match_type"), named(criterion, "ignore_args")
    if kind is not None:
        given = kind.peek()
        word = _BY_NUMBER[given] if isinstance(given, int) and 0 <= given < len(_BY_NUMBER) else str(given)
        word = word.strip().upper().replace("-", "_").replace(" ", "_")
        if word in MATCHES:
            found.match = word
            kind.express(f"evaluator {MATCHES[word]}")
        else:
            kind.report(Gap.NOT_READ, "is not a kind of match that is known")
    if ignored is not None and ignored.express("checks: tool_called, with or without arguments") is True:
        found.arguments = False


def _judge(criterion: Source) -> None:
    options = named(criterion, "judge_model_options")
    model, samples = named(options, "judge_model"), named(options, "num_samples")
    if model is not None:
        model.report(Gap.NEEDS_A_PERSON, "name the model that judges on the command line: --judge-model")
    if samples is not None:
        samples.report(Gap.NEEDS_A_PERSON, f"give the number of votes on the command line: --votes {samples.peek()}")
    for name in ("judge_model_config", "parallelism_limit"):
        option = named(options, name)
        if option is not None:
            option.report(Gap.NO_HOME, "options of the judge's model are in its model file")
    for name in ("evaluate_intermediate_nl_responses", "include_intermediate_responses_in_final"):
        option = named(criterion, name)
        if option is not None:
            option.report(Gap.NO_HOME, "the judge always sees the whole conversation")


def _simulator(found: Criteria, config: Source | None) -> None:
    limit = named(config, "max_allowed_invocations")
    if limit is not None and isinstance(limit.peek(), int) and limit.peek() > 0:
        found.rounds = limit.express("max_rounds of simulated users")
    kind, model = named(config, "type"), named(config, "model")
    if kind is not None and kind.peek() == "llm_backed":
        kind.express("a model examines")
    elif kind is not None:
        kind.report(Gap.REFUSED, "spoken users are not simulated: the examiner writes")
    if model is not None:
        model.report(Gap.NEEDS_A_PERSON, "name the model that examines on the command line: --model")
    for name in ("model_configuration", "custom_instructions", "include_function_calls"):
        option = at(config, name)
        if option is not None:
            option.report(Gap.NO_HOME, "the examiner has a prompt of its own, and the options of its model file")


def rubric_point(rubric: Source, number: int | None = None) -> dict[str, Any]:
    """Return the scoring point of a rubric.

    Args:
        rubric: The rubric.
        number: The round that it is about; None for the whole conversation.
    """
    text = text_of(at(rubric, "rubric_content", "text_property"), "a scoring point")
    about = {}
    for name in ("rubric_id", "description", "type"):
        value = named(rubric, name)
        if value is not None:
            about[name] = value.take()
    point: dict[str, Any] = {"score_point": text if text.strip() else "The rubric is fulfilled."}
    if number is not None:
        point["round"] = number
    if about:
        point["metadata"] = about
    return point
