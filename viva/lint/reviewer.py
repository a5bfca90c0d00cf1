"""Has a model review the scoring points of a case against its task: one question, and an answer that is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from viva.cases import Case
from viva.cases.case import check_text
from viva.cases.points.requirements import leaves_below
from viva.exam.options import Options
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.exchange.log import Topic
from viva.judge.scoring_points.layers import LAYER_WORDS
from viva.judge.steps import new_marker, readings
from viva.judge.view import show_fields
from viva.lint.finding import CaseFinding, LintedCase, LintKind
from viva.lint.places import CaseLines
from viva.lint.review_answer import AGAINST_OTHERS, FORM, CaseFlaw, CaseReviewAnswer, ReviewedFlaw
from viva.models.factory import make_model
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prices import parse_prices
from viva.models.prompts import render
from viva.models.roles import parse_role_limits
from viva.records.text import one_line

PROMPTS = Path(__file__).parent / "prompts"
SYSTEM_PROMPT, QUESTION_PROMPT = PROMPTS / "reviewer.md", PROMPTS / "case.md"
MOST_MESSAGES = 60
"""Maximum number of messages of a script that the reviewer is shown."""
SCRIPTED = ("the script",)
TOLD = ("the task", "the opening", "facts", "what the examiner insists on")
"""The beginnings of the names of what the examiner may say, with a script and without one."""
KINDS: Mapping[CaseFlaw, LintKind] = {
    CaseFlaw.CONTRADICTS_TASK: LintKind.CONTRADICTION,
    CaseFlaw.CONTRADICTS_POINT: LintKind.CONTRADICTION,
    CaseFlaw.SAME_AS_POINT: LintKind.DUPLICATE,
    CaseFlaw.REVEALED: LintKind.REVEALED,
    CaseFlaw.UNOBSERVABLE: LintKind.UNOBSERVABLE,
    CaseFlaw.UNFOUNDED: LintKind.UNFOUNDED,
}


async def review_cases(linted: Sequence[LintedCase], spec: str, options: Options) -> None:
    """Have a model review cases, and add what it finds.

    Raises:
        SetupError: the model cannot be used at all.
    """
    model = make_model(spec, calls=options.model_calls, prices=parse_prices(options.prices), cache=options.cache)
    limited = parse_role_limits(options.max_output_tokens, options.model_seconds).limited(model, "exam")
    try:
        for found in await asyncio.gather(*(_review(each, limited) for each in linted), return_exceptions=True):
            if isinstance(found, BaseException):
                raise found
    finally:
        await model.close()


async def _review(each: LintedCase, model: Model) -> None:
    metered, marker = MeteredModel(model), new_marker()
    paper = show_fields(dict(paper_parts(each.case)), marker)
    conversation = Conversation(metered, FORM, render(SYSTEM_PROMPT), paper.text, Topic(each.case.name))
    question = render(QUESTION_PROMPT, marker=marker, paper=paper.text, mark=conversation.mark)

    def accept(answer: CaseReviewAnswer, last: bool) -> CaseReviewAnswer:
        return with_found_quotes(answer, each.case)

    answer = await conversation.ask_until_usable(question, accept)
    each.usage += metered.usage
    if isinstance(answer, NoAnswer):
        each.failed.append(f"the review by {metered.name}: {one_line(answer.reason, 300)}")
        return
    each.tried = (*each.tried, f"reviewed by {metered.name}")
    by_code = {(found.kind, found.point) for found in each.findings if not found.is_note}
    each.findings += [found for found in _findings(answer, each.case, metered.name) if _key(found) not in by_code]


def _key(found: CaseFinding) -> tuple[LintKind, int | None]:
    return found.kind, found.point


def _findings(answer: CaseReviewAnswer, case: Case, model: str) -> Iterator[CaseFinding]:
    lines = CaseLines(case)
    for flaw in answer.flaws:
        where = lines.of_point(flaw.point - 1, "score_point")
        against = f" (against {one_line(flaw.against, 80)!r})" if flaw.against else ""
        message = f"{one_line(flaw.reason, 300)}{against}"
        advice = (
            one_line(flaw.advice, 200)
            or "reword the statement so that it fits the task, or the task so that it fits the statement"
        )
        yield CaseFinding(KINDS[flaw.kind], message, advice, where, flaw.point, by=model)


def paper_parts(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the parts of a case by their names."""
    yield "the task, which the examiner is told", case.task_description.strip()
    if case.opening:
        yield "the opening: the examiner's first message, sent as it is", case.opening
    if case.facts:
        yield "facts that the examiner knows", "\n".join(f"({fact.condition}) {fact.says}" for fact in case.facts)
    yield from _person(case)
    if case.insist is not None:
        yield "what the examiner insists on", case.insist.on
    if case.strategy is not None:
        aim = f"{case.strategy.name or ''}\n{case.strategy.goal or ''}".strip()
        yield "what the examiner tries to lead the agent to, on purpose", aim
    if case.script:
        yield "the script: all that the examiner says", "\n".join(_messages(case))
    yield "the maximum number of the examiner's messages", str(case.max_rounds or DEFAULT_MAX_ROUNDS)
    if case.data_files:
        yield "files that the agent is given", "\n".join(case.data_files)
    if case.background:
        yield "background, which only the judge knows", case.background
    numbers = {point.id: number for number, point in enumerate(case.scoring_points, 1)}
    below, groups = leaves_below(case), {group.id: group for group in case.point_groups}
    for number, point in enumerate(case.scoring_points, 1):
        head = [f"scoring point {number}", f"weight {point.weight:.3g}"]
        head += [f"part of {one_line(groups[name].score_point, 100)!r}" for name in point.path if name in groups]
        required = sorted({numbers[leaf] for name in point.require for leaf in below.get(name, ())})
        head += [f"requires point {other}" for other in required if other != number]
        head += [f"a hit must be {LAYER_WORDS[layer]}" for layer in LAYER_WORDS if layer == point.shown]
        yield ", ".join(head), point.score_point.strip()
        if check := check_text(point).strip():
            yield f"the check of scoring point {number}", check


def _person(case: Case) -> Iterator[tuple[str, str]]:
    user = case.user
    if user is not None:
        told = {"persona": user.persona, "mood": user.mood, "language": user.language, "style": user.style}
        lines = [f"{name}: {words}" for name, words in (told | {"patience": user.patience}).items() if words]
        yield "the person that the examiner plays", "\n".join(lines)
    if case.done_when is not None:
        ends = (("content when", case.done_when.content), ("gives up when", case.done_when.gives_up))
        yield "when the person stops", "\n".join(f"{name}: {words}" for name, words in ends if words)


def _messages(case: Case) -> Iterator[str]:
    messages = (
        f"{f' (if the agent says {line.if_agent_says})' if line.if_agent_says else ''}: {message}"
        for line in case.script
        for message in line.messages()
    )
    shown = list(islice(messages, MOST_MESSAGES + 1))
    yield from (f"message {number}{words}" for number, words in enumerate(shown[:MOST_MESSAGES], 1))
    if len(shown) > MOST_MESSAGES:
        yield "(further messages are not shown)"


def with_found_quotes(answer: CaseReviewAnswer, case: Case) -> CaseReviewAnswer:
    """Return an answer whose quotes are all in the case.

    Raises:
        AskAgain: a point does not exist, or a quote is not where it should be.
    """
    parts = dict(paper_parts(case))
    faults = [fault for flaw in answer.flaws if (fault := _fault(flaw, case, parts))]
    if faults:
        fault = "; ".join(faults[:3])
        raise AskAgain(
            fault,
            f"Your answer cannot be used: {fault}. Look again and answer in full: copy each quote exactly from the "
            "case, and leave out flaws that rest on words that are not there.",
        )
    return answer


def _fault(flaw: ReviewedFlaw, case: Case, parts: Mapping[str, str]) -> str:
    """Return what is wrong with the places of a flaw; empty if nothing is."""
    if not 1 <= flaw.point <= len(case.scoring_points):
        return f"there is no scoring point {flaw.point}"
    statement = case.scoring_points[flaw.point - 1].score_point
    if not _holds(statement, flaw.quote):
        return f"these words are not in the statement of point {flaw.point}: {flaw.quote[:120]!r}"
    if flaw.kind not in AGAINST_OTHERS:
        return ""
    own = (f"scoring point {flaw.point}, ", "the check of ")
    others = {name: words for name, words in parts.items() if not name.startswith(own)}
    if flaw.kind is CaseFlaw.REVEALED:
        told = SCRIPTED if case.script else TOLD
        others = {name: words for name, words in others.items() if name.startswith(told)}
    elif flaw.kind in (CaseFlaw.CONTRADICTS_POINT, CaseFlaw.SAME_AS_POINT):
        others = {name: words for name, words in others.items() if name.startswith("scoring point ")}
    if not any(_holds(words, flaw.against) for words in others.values()):
        return f"`against` of the flaw {flaw.kind.value} is not where it should be: {flaw.against[:120]!r}"
    return ""


def _holds(text: str, quote: str) -> bool:
    return any(reading.find(quote) for reading in readings(text))
