"""Has several models judge a labelled set, one after the other, and says how good each is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viva.judge.calibration.judging import ITEMS_AT_ONCE, Judgements, TriedPoint, judge_set
from viva.judge.calibration.sets import LabelledSet
from viva.models.factory import identity, make_model
from viva.models.prices import LISTED, Prices
from viva.models.roles import NO_ROLE_LIMITS, RoleLimits
from viva.statistics.agreement.judges import JudgeFigures, judge_figures


async def try_judges(
    labelled: LabelledSet,
    specs: Sequence[str],
    kept: Judgements | None = None,
    *,
    prices: Prices = LISTED,
    cache: str | None = None,
    limits: RoleLimits = NO_ROLE_LIMITS,
    concurrency: int = ITEMS_AT_ONCE,
    on_judged: Callable[[TriedPoint], None] = lambda judged: None,
) -> list[JudgeFigures]:
    """Have models judge a labelled set, and return their figures in the order given.

    Args:
        labelled: The set.
        specs: The models, as `make_model` takes them.
        kept: Where judgements are kept, so that none is paid for twice.
        prices: The prices that the user gave.
        cache: Folder in which answers are kept; None to ask each question.
        limits: The limits of answers that the user gave.
        concurrency: Maximum number of transcripts that are judged concurrently.
        on_judged: Called with each point once it is judged.

    Raises:
        SetupError: a model cannot be made or used, or a judgement cannot be kept.
    """
    models = [make_model(spec, prices=prices, cache=cache) for spec in specs]  # before the first one is paid
    names = [model.name for model in models]
    try:
        figures: list[JudgeFigures] = []
        for spec, model in zip(specs, models, strict=True):
            judged = await judge_set(
                labelled,
                limits.limited(model, "judge"),
                kept,
                judge=identity(spec),
                concurrency=concurrency,
                on_judged=on_judged,
            )
            shown = model.name if names.count(model.name) == 1 else spec
            figures.append(judge_figures(shown, judged, model.name))
        return figures
    finally:
        for model in models:
            await model.close()
