"""Asks a model about a trajectory: data delimited as hostile text, quotes looked up, one answer for each question."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from viva.judge.answers import Form, JudgeAnswer
from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.copies import PLANTED
from viva.judge.exchange.log import Topic
from viva.judge.refusals import attributed, is_content_refused, is_for_less
from viva.judge.steps import readings, visible
from viva.judge.turns import LESS, WHOLE, Detail, ShownTurn, ShownTurns, Source
from viva.judge.view import ShownTranscript, show_fields
from viva.models.prompts import digest, render
from viva.records.fault import Fault
from viva.records.text import storable
from viva.records.verdict import Evidence, Label, Verdict

if TYPE_CHECKING:
    from viva.models.model import Model

PROMPTS = Path(__file__).parent / "prompts"
RULES, QUESTION = PROMPTS / "rules.md", PROMPTS / "question.md"
QUESTIONS_AT_ONCE = 8
"""Questions about one trajectory that a model answers at once."""


class QuotingAnswer(JudgeAnswer, Protocol):
    """An answer that quotes the data."""

    quotes: list[str]


Q = TypeVar("Q", bound=QuotingAnswer)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field:
    """A text that a judge is shown."""

    name: str
    words: str | ShownTurns
    where: str | None = None
    """The id of the step or round that it comes from, for evidence; None for what is not a part of the conversation."""
    given: str | None = None
    """The beginning of a text in which the agent had no part, if there is any; turns say whose they are."""
    by: Source = "said"
    """Whose the rest of a text is."""

    @property
    def text(self) -> str:
        """Return all of it."""
        return self.words if isinstance(self.words, str) else self.words.text

    @property
    def shown(self) -> ShownTurn | ShownTurns:
        """Return it as it is shown."""
        if isinstance(self.words, ShownTurns):
            return self.words
        words = visible(self.words) or "(nothing)"
        return ShownTurn(f"[{self.name}]", words, self.by, given=len(visible(self.given or "")))


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked about one step, or about a whole trajectory."""

    subject: str
    """The id of the step or run."""
    fields: tuple[Field, ...]
    statement: str = ""
    """What the verdict is about, in words: the step's tool."""
    sources: tuple[tuple[str, str], ...] = ()
    """Ids of steps or rounds, each with a text that one of their fields holds: quotes are looked up here first."""

    def check(self, labels: Mapping[str, str]) -> None:
        """Check the labels of an answer, which have the right form, against what was asked.

        Raises:
            Unusable: they do not fit it.
        """


@dataclass(frozen=True, slots=True)
class Ruling:
    """One usable answer, or why there is none."""

    labels: Mapping[str, str]
    """Name of a decision to its label."""
    reason: str
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
    fault: Fault | None = None

    def verdict(
        self, question: Question, criterion: str, decision: str, scores: Mapping[str, float], by: str, evaluator: str
    ) -> Verdict:
        """Make the verdict on one decision; labels without a score have none."""
        label = self.labels.get(decision, str(Label.ERROR))
        return Verdict(
            question.subject,
            criterion,
            label,
            scores.get(label),
            reason=self.reason,
            evidence=self.evidence,
            by=by,
            statement=question.statement or (criterion if criterion != evaluator else ""),
            flags=self.flags,
            fault=self.fault,
        )


def prompt_hashes(evaluator: str, prompt: Path) -> dict[str, str]:
    """Return the hash of each prompt by its name, as runs record it."""
    return {evaluator: digest(prompt), "trajectory_rules": digest(RULES), "trajectory_question": digest(QUESTION)}


async def ask_all(
    model: Model, form: Form[Q], prompt: Path, questions: Sequence[Question], *, marker: str, worst: str
) -> list[Ruling]:
    """Ask all questions, several at once, and return their answers in order.

    Args:
        model: The judge.
        form: The form of each answer.
        prompt: The system prompt's file.
        questions: The questions.
        marker: The marker of the data's beginning, end and gaps.
        worst: The label of a criterion for which the judge repeated a verdict or a mark from the data.

    Raises:
        SharedSetupError: the model cannot be used at all.
    """
    places = asyncio.Semaphore(QUESTIONS_AT_ONCE)
    system = render(prompt, rules=render(RULES).strip())

    async def one(question: Question) -> Ruling:
        async with places:
            return await _ask(model, form, system, question, marker, worst)

    return list(await asyncio.gather(*map(one, questions)))


async def _ask(model: Model, form: Form[Q], system: str, question: Question, marker: str, worst: str) -> Ruling:
    async def ask(*, fails: Callable[[object], bool] = is_content_refused) -> Ruling | NoAnswer:
        shown = _shown(question, marker, WHOLE)
        result = await _asked(model, form, system, question, shown, partial(_accepted, form, question, shown.cut))
        for detail in LESS:
            if fails(result) and (less := _shown(question, marker, detail)).text != shown.text:
                shown = less
                accept = partial(_accepted, form, question, shown.cut)
                result = await _asked(model, form, system, question, shown, accept)
        return result

    async def ask_without_agent(detail: Detail) -> Mapping[str, str] | NoAnswer:
        nothing = _shown(question, marker, detail)
        return await _asked(
            model, form, system, question, nothing, lambda answer, last: _labels(form, question, answer)
        )

    result = await attributed(await ask(), ask_without_agent, partial(ask, fails=is_for_less), LESS[-1])
    if not isinstance(result, NoAnswer):
        return result
    if result.flag:
        return Ruling(dict.fromkeys(form.decisions, Label.UNSURE.value), result.reason, flags=(result.flag,))
    if result.planted:
        return Ruling(dict.fromkeys(form.decisions, worst), result.reason, flags=(PLANTED,))
    return Ruling({}, result.reason, fault=result.fault)


def _accepted(form: Form[Q], question: Question, is_cut: bool, answer: Q, last: bool) -> Ruling:
    """Return an answer with its evidence.

    Raises:
        AskAgain: a quote is not in the data, and the judge can be asked again.
        Unusable: the labels do not fit the question.
    """
    labels = _labels(form, question, answer)
    found, lost = look_up(question, answer.quotes)
    flags = ("transcript-cut",) if is_cut else ()
    reason = storable(answer.reason.strip())
    if set(labels.values()) == {Label.UNSURE.value} or (found is not None and not lost):
        return Ruling(labels, reason, tuple(found or ()), flags)
    fault = _no_quote(lost)
    if not last:
        raise AskAgain(fault, f"{fault[0].upper()}{fault[1:]}. {_AGAIN}")
    flags = (*flags, "quote-not-found")
    if found is not None:
        return Ruling(labels, reason, tuple(found), flags)
    unsure = dict.fromkeys(labels, Label.UNSURE.value)
    return Ruling(unsure, f"{reason} [Held as {', '.join(labels.values())}, but {fault}.]", (), flags)


def _labels(form: Form[Q], question: Question, answer: Q) -> Mapping[str, str]:
    labels = {name: str(getattr(answer, name)) for name in form.decisions}
    question.check(labels)
    return labels


def _shown(question: Question, marker: str, detail: Detail) -> ShownTranscript:
    return show_fields({field.name: field.shown for field in question.fields}, marker, detail)


async def _asked(
    model: Model, form: Form[Q], system: str, question: Question, shown: ShownTranscript, accept: Callable[[Q, bool], T]
) -> T | NoAnswer:
    conversation = Conversation(model, form, system, shown.text, Topic(question.subject))
    words = render(QUESTION, data=shown.text, marker=shown.marker, mark=conversation.mark)
    return await conversation.ask_until_usable(words, accept)


_AGAIN = (
    "Look again and answer in full: copy each quote exactly from one field of the data, without the name of the field, "
    "or change the label if it rests on words that are not there."
)


def look_up(question: Question, quotes: Iterable[str]) -> tuple[list[Evidence] | None, list[str]]:
    """Look up quotes in what was shown.

    Returns:
        Evidence for those found in the conversation (None if no quote was found anywhere), and those not found.
    """
    shown = [*question.sources, *((field.where, field.text) for field in question.fields)]
    texts = [(where, readings(text)) for where, text in shown]
    evidence: list[Evidence] = []
    lost: list[str] = []
    found = False
    for quote in quotes:
        places = [where for where, forms in texts if any(text.find(quote) for text in forms)]
        if not places:
            lost.append(quote)
            continue
        found = True
        if where := next((place for place in places if place is not None), None):
            evidence.append(Evidence(where, storable(quote.strip())))
    return (evidence if found else None), lost


def _no_quote(lost: Sequence[str]) -> str:
    if not lost:
        return "the answer quotes nothing from the data"
    shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
    return f"these words are not in the data: {shown}"


Timer = Callable[[], float]


def stopwatch() -> Timer:
    """Start a clock, and return a function that returns the seconds since then."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
