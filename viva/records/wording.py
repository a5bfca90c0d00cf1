"""Words that every part of the harness uses: counts with nouns, scores, usage, outcomes, judges and sandboxes."""

from __future__ import annotations

import math

from viva.cases.text import is_made
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.text import counted as counted
from viva.records.text import one_line
from viva.records.transcript import Usage
from viva.records.verdict import Insight

UNSAFE = "does NOT isolate"
UNKNOWN = "unknown"
IN_PART = "in part"
"""What of a number is known that is only a lower bound, because the rest was not reported."""
SCORING_POINTS = "scoring_points"
"""The evaluator that judges the scoring points of a case; its judge can be code or a model."""
SUB_GOAL = "sub_goal_"
"""What the criteria of sub-goals begin with in the verdicts on a session: they are `sub_goal_1` and so on."""
IN_PROCESS = "in-process"


class _OutcomeWords(dict[Outcome, str]):
    """The meaning of each outcome; a journal of a newer Viva may contain others."""

    def __missing__(self, outcome: Outcome) -> str:
        return "this outcome is unknown to this version of Viva"


OUTCOMES = _OutcomeWords(
    {
        Outcome.SCORED: "completed and judged in full",
        Outcome.TARGET_ERROR: "the agent failed; judged as it stands, never a pass",
        Outcome.EXAMINER_ERROR: "the examiner failed; excluded from averages",
        Outcome.JUDGE_ERROR: "judging failed; excluded from averages",
        Outcome.INFRA_ERROR: "sandbox, disk, network or provider failed; excluded from averages",
    }
)


def point_name(criterion: str, statement: str) -> str:
    """Return the name of a scoring point for readers: the id that its author gave it, or else what it says."""
    return f'"{one_line(statement, 80)}"' if statement and is_made(criterion) else one_line(criterion, 80)


def judge_words(setting: Setting) -> str:
    """Return the kind of judge, or the evaluators if there are others than scoring points; with the model, if any."""
    votes = f", {setting.judge_votes} votes each" if setting.judge_votes > 1 else ""
    model = f" ({one_line(setting.judge_model, 60)}{votes})" if setting.judge_model else ""
    # With a model, `code` means that the model judges the points without a check, which may be all of them.
    words = {"code": "code or model" if setting.judge_model else "code", "both": "code and model"}
    kind = words.get(setting.judge) or one_line(setting.judge, 20)
    if setting.evaluators in ((), (SCORING_POINTS,)):
        return kind + model
    names = [f"{SCORING_POINTS} by {kind}" if name == SCORING_POINTS else name for name in setting.evaluators]
    given = [setting.evaluator_parameters.get(name) for name in setting.evaluators]
    shown = [f"{name}({parameters})" if parameters else name for name, parameters in zip(names, given, strict=True)]
    return one_line(", ".join(shown), 400) + model


def sandbox_words(setting: Setting) -> str:
    """Return the sandbox's name, with a warning if it does not isolate; empty if no check ran."""
    if not setting.sandbox:
        return ""
    weak = "" if setting.sandbox_isolates in (True, None) else f" ({UNSAFE})"
    return one_line(setting.sandbox, 30) + weak


def agent_words(setting: Setting) -> str:
    """Return where the agent's code ran, if that was in Viva's own process: it could have changed what Viva found."""
    return IN_PROCESS if setting.in_process else ""


def score_line(record: RunRecord) -> str:
    """Return the score in words: `15/15 = 1.00`, or `1.00` without scoring points; with bounds if points are open."""
    if record.score is None:
        return "no score"
    line = f"{record.score:.2f}"
    if record.points is not None and record.max_points is not None:
        line = f"{record.points:g}/{record.max_points:g} = {line}"
    if record.outcome is Outcome.TARGET_ERROR and record.score:
        return f"{line} as it stands; counts as not passed"
    return line + _bounds(record.low, record.high)


def is_unscored(record: RunRecord) -> bool:
    """Return whether a run was completed, but no evaluator gave it a score, as for a recording without a reward."""
    return record.outcome is Outcome.SCORED and record.score is None


def outcome_line(record: RunRecord) -> str:
    """Return the outcome with its meaning: `scored (completed and judged in full)`."""
    if is_unscored(record):
        return "not scored (completed; no evaluator gave a score)"
    return f"{record.outcome.value} ({OUTCOMES[record.outcome]})"


def insight_line(insight: Insight) -> str:
    """Return an insight's label, score and named scores in words: `correct, 0.80, safety 1.00`."""
    score = "no score" if insight.score is None else f"{insight.score:.2f}{_bounds(insight.low, insight.high)}"
    return ", ".join(part for part in (one_line(insight.label, 40), score, *named_scores(insight)) if part)


def named_scores(insight: Insight, most: int = 60) -> list[str]:
    """Return each named score of an insight in words: `safety 1.00`."""
    return [f"{one_line(name, 60)} {value:.2f}" for name, value in list(insight.scores.items())[:most]]


def limit_words(limit: float) -> str:
    """Return a limit as short as possible, and with all its digits: `0.8`, `0.7999999`."""
    return f"{limit:g}" if float(f"{limit:g}") == limit else repr(limit)


def decimals_beyond(value: float, limit: float, fewest: int = 4) -> int:
    """Return with how many decimals a figure is on the same side of a limit as it really is.

    Args:
        value: The figure; it is not the limit itself.
        limit: The limit.
        fewest: Minimum number of decimals.
    """
    for decimals in range(fewest, 17):
        shown = float(f"{value:.{decimals}f}")
        if shown != limit and (shown > limit) == (value > limit):
            return decimals
    return 17


def beyond(value: float, limit: float, fewest: int = 4) -> str:
    """Return a figure that missed a limit, with so many decimals that it does not seem to have reached it."""
    return f"{value:.{decimals_beyond(value, limit, fewest)}f}"


def fall_words(old: float, new: float, most: float) -> str:
    """Return by how much a figure fell, if that is too much: `fell from 0.8000 to 0.7000, by more than 0.05`."""
    decimals = 4
    while decimals < 16 and round(float(f"{old:.{decimals}f}") - float(f"{new:.{decimals}f}"), decimals) <= most:
        decimals += 1
    return f"fell from {old:.{decimals}f} to {new:.{decimals}f}, by more than {limit_words(most)}"


def dollars(cost: float | None) -> str:
    """Return a sum of money in words."""
    return UNKNOWN if cost is None else f"${cost:.4f}" if cost < 1 else f"${cost:,.2f}"


def tokens_words(usage: Usage) -> str:
    """Return input and output tokens in words: `1,234 tokens`, or `tokens unknown` if not reported."""
    tokens = usage.known_tokens
    if tokens is None:
        return f"tokens {UNKNOWN}"
    return f"{'' if usage.reported else 'at least '}{counted(tokens, 'token')}"


def cost_words(usage: Usage) -> str:
    """Return the cost in words: `$0.0123`, or `cost unknown` if it was not reported or a price is unknown."""
    cost = usage.known_cost
    return f"cost {UNKNOWN}" if cost is None else f"${cost:.4f}"


def cached_words(answers: int) -> str:
    """Return how many answers of models were not asked for again."""
    taken = "was taken from the cache, and is" if answers == 1 else "were taken from the cache, and are"
    return f"{counted(answers, 'answer')} {taken} not in these figures"


def usage_words(usage: Usage) -> str:
    """Return tokens and cost in words; `tokens and cost unknown` if not reported."""
    return f"{tokens_words(usage)}, {cost_words(usage)}" if usage.known else f"tokens and cost {UNKNOWN}"


def _bounds(low: float | None, high: float | None) -> str:
    if low is None or high is None or math.isclose(low, high, rel_tol=0, abs_tol=1e-9):
        return ""
    return f" (between {low:.2f} and {high:.2f}, some points are open)"


def played_words(persona: str, strategy: str) -> str:
    """Return the persona and the strategy of a run's examiner, on one line; empty if there are none."""
    return ", ".join(one_line(name, 60) for name in (persona, strategy) if name)
