"""Has a model review an exam: one question, and an answer that is checked; `merging` adds it to what code found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viva.cases.case import check_text
from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.exam.answer import FORM, ReviewAnswer
from viva.judge.exam.kinds import Finding
from viva.judge.exam.merging import merge
from viva.judge.exam.messages import talk_of
from viva.judge.exam.paper import Paper
from viva.judge.exchange.log import Topic
from viva.judge.quotes import Text
from viva.judge.refusals import is_content_refused
from viva.judge.steps import new_marker, readings
from viva.judge.turns import FOR_A_REVIEW, LESS_FOR_A_REVIEW
from viva.judge.view import ShownTranscript, show, show_fields
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import digest, render
from viva.records.evaluator import Context
from viva.records.text import one_line, storable
from viva.records.transcript import NO_USAGE, StopReason, Transcript, Usage

PROMPTS = Path(__file__).parent / "prompts"
SYSTEM_PROMPT, QUESTION_PROMPT = PROMPTS / "reviewer.md", PROMPTS / "exam.md"
MOST_NOTICED = 10
SHORTENED = "the reviewer was shown less of what the agent said and did, because its provider refuses more"
REFUSED = "the reviewer's provider refuses the exam, also with less of what the agent said and did"
_ENDS = {
    None: "the recording ends here",
    StopReason.FINISHED: "the examiner ended it",
    StopReason.MAX_ROUNDS: "the maximum number of rounds was reached",
    StopReason.TARGET_ERROR: "the agent failed",
    StopReason.TIMEOUT: "a time limit was reached",
    StopReason.BUDGET: "the agent's budget was used up",
}


@dataclass(frozen=True, slots=True)
class Review:
    """What a review came to."""

    findings: tuple[Finding, ...]
    """Findings of code and of the reviewer."""
    model: str = ""
    """The reviewer's name."""
    usage: Usage = NO_USAGE
    unusable: str = ""
    """Why there is no usable answer; empty if there is one."""
    notes: tuple[str, ...] = ()


def prompt_hashes() -> dict[str, str]:
    """Return the hash of each prompt by name, as runs record it."""
    return {"exam_reviewer": digest(SYSTEM_PROMPT), "exam_question": digest(QUESTION_PROMPT)}


async def review_exam(
    model: Model, context: Context, task: str, transcript: Transcript, paper: Paper, findings: Sequence[Finding]
) -> Review:
    """Ask a model about the examiner's conduct.

    If its provider refuses what the agent said and did, it is asked with less of that. An answer that stays unusable,
    or a provider that fails, leaves the exam unreviewed: the findings of code stand.

    Args:
        model: The reviewer.
        context: The case, if there is one, and whom the examiner played.
        task: The task description.
        transcript: The conversation.
        paper: What the exam was about, by which a finding of the reviewer is excused as one of code is.
        findings: What code has found.

    Raises:
        SharedSetupError: the model cannot be used at all.
    """
    metered, marker = MeteredModel(model), new_marker()
    told = show_fields(dict(_paper(context, task)), marker)
    reviewer = _Reviewer(metered, Topic(context.subject), told, transcript, findings)
    found, notes = await reviewer.review()
    if isinstance(found, NoAnswer):
        return Review(tuple(findings), metered.name, metered.usage, unusable=storable(one_line(found.reason, 500)))
    merged, more = merge(found, findings, metered.name, talk_of(transcript), paper)
    return Review(merged, metered.name, metered.usage, notes=(*notes, *more))


@dataclass(frozen=True, slots=True)
class _Reviewer:
    """Asks a model about one exam."""

    model: Model
    topic: Topic
    told: ShownTranscript
    """What the examiner was told, and what only the judge knows."""
    transcript: Transcript
    findings: Sequence[Finding]

    async def review(self) -> tuple[ReviewAnswer | NoAnswer, tuple[str, ...]]:
        """Ask, and ask again with less of the agent's as long as the provider refuses that; return notes beside it.

        The examiner's messages stay as they are: they are what is judged, and no agent may hide one.
        """
        whole = show(self.transcript, self.told.marker, FOR_A_REVIEW)
        found = await self._ask(whole)
        shown = whole
        for detail in LESS_FOR_A_REVIEW:
            less = show(self.transcript, self.told.marker, detail)
            if is_content_refused(found) and less.text != shown.text:
                shown = less
                found = await self._ask(shown)
        if is_content_refused(found):
            return replace(found, reason=f"{REFUSED} ({found.reason})"), ()
        return found, () if shown is whole else (SHORTENED,)

    def _accepted(self, answer: ReviewAnswer, last: bool) -> ReviewAnswer:
        said = {each.number: readings(each.examiner) for each in self.transcript.rounds if each.examiner}
        return _with_places(answer, said)

    async def _ask(self, shown: ShownTranscript) -> ReviewAnswer | NoAnswer:
        conversation = Conversation(self.model, FORM, render(SYSTEM_PROMPT), shown.text, self.topic)
        question = render(
            QUESTION_PROMPT,
            marker=shown.marker,
            paper=self.told.text,
            transcript=shown.text,
            end=_ENDS.get(self.transcript.stop, "it was broken off"),
            noticed=_noticed(self.findings),
            mark=conversation.mark,
        )
        return await conversation.ask_until_usable(question, self._accepted)


def _noticed(findings: Sequence[Finding]) -> str:
    noticed = [f"{each.kind.value} in round {each.round}: {each.reason}" for each in findings[:MOST_NOTICED]]
    # The reasons may quote anybody, so they are shown like data.
    words = "\nSimple checks noticed this, which you decide for yourself:\n" if noticed else ""
    return words + "".join(f"    {one_line(each, 300)}\n" for each in noticed)


def _paper(context: Context, task: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of what the examiner was told, and of what only the judge knows."""
    yield "the task", task.strip()
    if context.persona:
        yield "the person's character", _named(context.persona, context.persona_words)
    if context.strategy:
        words = _named(context.strategy, context.strategy_words)
        yield "the way in which the examiner tries to mislead the agent, on purpose", words
    case = context.case
    if case is None:
        return
    if case.opening:
        yield "the first message, sent as it is", case.opening
    user = case.user
    if user is not None:
        told = {"persona": user.persona, "mood": user.mood, "language": user.language, "style": user.style}
        lines = [f"{name}: {words}" for name, words in (told | {"patience": user.patience}).items() if words]
        yield "the person", "\n".join(lines)
    if case.facts:
        yield "facts, with when they may be told", "\n".join(f"({f.condition}) {f.says}" for f in case.facts)
    if case.insist is not None:
        times = f" (again at most {case.insist.times} times)" if case.insist.times is not None else ""
        yield "what the person insists on", f"{case.insist.on}{times}"
    if case.done_when is not None:
        ends = (("content when", case.done_when.content), ("gives up when", case.done_when.gives_up))
        yield "when the person stops", "\n".join(f"{name}: {words}" for name, words in ends if words)
    if case.strategy is not None:
        aim = f"{case.strategy.name or ''}\n{case.strategy.goal or ''}"
        yield "what the examiner tries to lead the agent to, on purpose", aim.strip()
    points = "\n".join(point.score_point.strip() for point in case.scoring_points)
    checks = "\n".join(filter(None, (check_text(point).strip() for point in case.scoring_points)))
    yield "scoring points, unknown to the examiner", points
    if checks:
        yield "checks of the points, unknown to the examiner", checks


def _named(name: str, words: str) -> str:
    """Return a name with its description, where there is one."""
    return f"{name}: {words}" if words else name


def _with_places(answer: ReviewAnswer, said: dict[int, tuple[Text, ...]]) -> ReviewAnswer:
    """Return an answer whose quotes were found in the examiner's messages, with the rounds in which they are.

    Raises:
        AskAgain: a quote is in no message of the examiner.
    """
    lost = [each.quote for each in (*answer.request, *answer.faults) if _place(each.round, each.quote, said) is None]
    if lost:
        shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
        fault = f"these words are in no message of the examiner: {shown}"
        raise AskAgain(
            fault,
            f"Your answer cannot be used: {fault}. Look again and answer in full: copy each quote exactly from the "
            "examiner's message, and leave out faults that rest on words that the examiner did not say.",
        )
    request = [each.model_copy(update={"round": _place(each.round, each.quote, said)}) for each in answer.request]
    faults = [each.model_copy(update={"round": _place(each.round, each.quote, said)}) for each in answer.faults]
    return answer.model_copy(update={"request": request, "faults": faults})


def _place(wanted: int, quote: str, said: dict[int, tuple[Text, ...]]) -> int | None:
    ordered = sorted(said, key=lambda number: (number != wanted, number))
    return next((number for number in ordered if any(text.find(quote) for text in said[number])), None)
