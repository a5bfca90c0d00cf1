"""Asks a model about a session or round. A rejected request is repeated with fewer screenshots, then elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.asking import Shown as Part
from viva.judge.exchange.log import Topic
from viva.judge.refusals import attributed, is_content_refused, is_for_less, is_refusal
from viva.judge.session.answer import FORM, SessionAnswer, SubScore, says_something
from viva.judge.session.settings import Screenshots, Settings
from viva.judge.session.shots import ReadPicture, Shown, prepare
from viva.judge.session.trajectory import BY_PICTURE, CLAIMS_ONLY, Citations, FoundEvidence, Subject, show_session
from viva.judge.steps import new_marker
from viva.judge.turns import LESS, WHOLE, Detail
from viva.judge.view import ShownTranscript
from viva.models.metered_model import MeteredModel
from viva.models.model import Model, PictureFile
from viva.models.prompts import digest, render
from viva.records.text import one_line
from viva.records.transcript import LIVE, NO_USAGE, Usage

PROMPTS = Path(__file__).parent / "prompts"
GUIDANCE, FORM_PROMPT, QUESTION = PROMPTS / "guidance.md", PROMPTS / "form.md", PROMPTS / "session.md"
T = TypeVar("T")
_WHAT = {
    "session": "a whole session",
    "round": "one round of a session, by its own request alone; what other rounds did is not shown",
}


def prompt_hashes() -> dict[str, str]:
    """Return the hash of each prompt, by its name."""
    return {"session_guidance": digest(GUIDANCE), "session_form": digest(FORM_PROMPT), "session": digest(QUESTION)}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: one model and one choice of screenshots, including the questions that were repeated."""

    model: str
    shown: Shown
    usage: Usage
    failed: str = ""
    """Why the attempt gave no usable answer."""


@dataclass(frozen=True, slots=True)
class JudgedSubScore:
    """A sub-goal with the evidence that was found for it."""

    sub: SubScore
    found: FoundEvidence
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedSubject:
    """A usable answer about a subject."""

    answer: SessionAnswer
    subs: tuple[JudgedSubScore, ...]
    cut: bool
    """Whether parts of the steps were omitted because of their length."""
    unsupported: str = ""
    """Why a `yes` was changed to `unsure`."""


@dataclass(slots=True)
class SessionJudge:
    """Judges subjects with one model, and with a backup model if the first gives no usable answer."""

    model: Model
    settings: Settings
    backup: Model | None = None
    attempts: list[Attempt] = field(default_factory=list)
    """The attempts at the last subject."""
    _beside: Usage = field(default=NO_USAGE, init=False)

    async def judge(self, subject: Subject, read: ReadPicture) -> JudgedSubject | NoAnswer:
        """Ask about one subject: as the settings say, then with fewer screenshots and shorter steps, then the backup
        model.

        If the provider or its model refuses what the agent said and did, and nothing else, or gives no usable answer
        to that alone, the answer is `unsure`: the run counts.

        Raises:
            SharedSetupError: the model cannot be used at all.
        """
        self.attempts = []
        self._beside = NO_USAGE
        found, mode = await self._ask(self.model, subject, self.settings.screenshots, read)
        last = self.model
        if isinstance(found, NoAnswer) and self.backup is not None:
            last = self.backup
            found, mode = await self._ask(last, subject, mode, read)

        async def ask_again() -> JudgedSubject | NoAnswer:
            return (await self._ask(last, subject, mode, read, is_for_less))[0]

        return await attributed(found, partial(self._ask_without_agent, last, subject, read), ask_again, LESS[-1])

    async def _ask(
        self,
        model: Model,
        subject: Subject,
        mode: Screenshots,
        read: ReadPicture,
        fails: Callable[[object], bool] = is_content_refused,
    ) -> tuple[JudgedSubject | NoAnswer, Screenshots]:
        """Ask one model, with less if its provider refuses that, or if it `fails` in another way.

        In an exam, the agent chooses its pictures, so what they hold must not make its run one that no judge accepts.

        Returns:
            The result, and with which screenshots the next model is asked.
        """
        found = await self._attempt(model, subject, mode, read)
        if isinstance(found, NoAnswer) and mode == "all" and self.attempts[-1].shown.shots and is_refusal(found):
            mode = "ends"
            found = await self._attempt(model, subject, mode, read)
        left = mode
        if fails(found) and subject.transcript.source == LIVE and self.attempts[-1].shown.shots:
            left = "none"
            found = await self._attempt(model, subject, left, read)
        before = WHOLE
        for detail in LESS:
            if fails(found) and _differ(subject, before, detail):
                before = detail
                found = await self._attempt(model, subject, left, read, detail)
        return found, mode

    async def _attempt(
        self, model: Model, subject: Subject, mode: Screenshots, read: ReadPicture, detail: Detail = WHOLE
    ) -> JudgedSubject | NoAnswer:
        shown = await asyncio.to_thread(prepare, subject.transcript, mode if model.features.vision else "none", read)
        metered = MeteredModel(model)
        session = show_session(subject, detail)
        citations = Citations(subject, shown)

        def accept(answer: SessionAnswer, last: bool) -> JudgedSubject:
            return _supported(answer, citations, last, cut=session.cut)

        found = await self._asked(metered, subject, session, shown, accept)
        failed = found.reason if isinstance(found, NoAnswer) else ""
        self.attempts.append(Attempt(model.name, shown, metered.usage, failed))
        return found

    async def _ask_without_agent(
        self, model: Model, subject: Subject, read: ReadPicture, detail: Detail
    ) -> SessionAnswer | NoAnswer | None:
        """Ask the last question without what the agent said and did; None if there is nothing of it."""
        session = show_session(subject, detail)
        if not session.cut:
            return None
        shown = self.attempts[-1].shown
        if subject.transcript.source == LIVE and shown.shots:
            shown = await asyncio.to_thread(prepare, subject.transcript, "none", read)
        metered = MeteredModel(model)
        found = await self._asked(metered, subject, session, shown, lambda answer, last: answer)
        self._beside += metered.usage
        return found

    async def _asked(
        self,
        model: Model,
        subject: Subject,
        session: ShownTranscript,
        shown: Shown,
        accept: Callable[[SessionAnswer, bool], T],
    ) -> T | NoAnswer:
        topic = Topic(subject.id)
        conversation = Conversation(model, FORM, system_prompt(self.settings, shown), session.text, topic)
        question, parts = compose(subject, session, shown, conversation.mark)
        return await conversation.ask_until_usable(question, accept, parts)

    @property
    def usage(self) -> Usage:
        """Return the usage of all attempts at the last subject, and of asking without the agent's words."""
        return sum((attempt.usage for attempt in self.attempts), self._beside)


def system_prompt(settings: Settings, shown: Shown) -> str:
    """Return the system prompt: the guidance, which can be replaced, and the form of the answer, which cannot."""
    examples = settings.example_prompt
    if settings.main_prompt:
        guidance = settings.main_prompt
        told = {"apis": "(They stand with the session.)", "screenshots": shown.words, "examples": examples}
        for name, words in told.items():
            guidance = guidance.replace("{" + name + "}", words)
        if examples and examples not in guidance:
            guidance += f"\n\nExamples:\n{examples}"
    else:
        guidance = render(GUIDANCE, examples=f"\nExamples:\n{examples}" if examples else "")
    return f"{guidance.strip()}\n\n{render(FORM_PROMPT)}"


def compose(subject: Subject, session: ShownTranscript, shown: Shown, mark: str) -> tuple[str, list[Part]]:
    """Return the question about a subject, and the parts that follow it: screenshots with captions, and the mark."""
    question = render(
        QUESTION,
        what=_WHAT[subject.level],
        marker=session.marker,
        session=session.text,
        screenshots=shown.words,
        live=subject.transcript.source == LIVE,
    )
    end = f"The mark of this question is {mark}."
    return (question, [*_parts(shown), end]) if shown.shots else (f"{question}\n\n{end}", [])


def _differ(subject: Subject, one: Detail, other: Detail) -> bool:
    marker = new_marker()
    return show_session(subject, one, marker).text != show_session(subject, other, marker).text


def _parts(shown: Shown) -> Iterator[Part]:
    for number, shot in enumerate(shown.shots, 1):
        yield f"[{number} of {len(shown.shots)}] {shot.caption}:"
        yield PictureFile(shot.content)


def _supported(answer: SessionAnswer, citations: Citations, last: bool, *, cut: bool) -> JudgedSubject:
    """Check that each sub-goal has a reason and, if it is `yes`, evidence.

    At the last ask, a reason may be missing, and a `yes` without evidence becomes `unsure`.

    Raises:
        AskAgain: evidence is missing, and the judge can be asked again.
    """
    subs: list[JudgedSubScore] = []
    faults: list[str] = []
    for given in answer.sub_scores:
        sub = given
        found = citations.look_up([(cited.step, cited.quote) for cited in sub.evidence])
        flags = [BY_PICTURE] if found.by_picture else []
        flags += [CLAIMS_ONLY] if found.claims_only else []
        flags += ["quote-not-found"] if found.lost else []
        if sub.evaluation == "yes" and (not found.evidence or (found.lost and not last)):
            why = "; ".join(found.lost[:3]) or "it cites nothing"
            faults.append(f"the sub-goal {one_line(sub.name, 80)!r} is yes, but {why}")
            if not found.evidence:
                reason = f"{sub.reason} [Held as yes, but {why}.]"
                sub = sub.model_copy(update={"evaluation": "unsure", "reason": reason})
        elif not says_something(sub.reason) and not last:
            faults.append(f"the sub-goal {one_line(sub.name, 80)!r} has no reason")
        subs.append(JudgedSubScore(sub, found, tuple(flags)))
    if faults and not last:
        fault = "; ".join(faults[:3])
        raise AskAgain(
            fault,
            f"Your answer cannot be used as it is: {fault}. Look again and answer in full, with a reason for each "
            "sub-goal: quote the steps exactly, or cite a step whose screenshot was shown with an empty quote, or "
            "change the evaluation if nothing shows it.",
        )
    if faults and answer.complete == "yes":
        # At the last ask only what has no evidence at all is a fault.
        unsure = answer.model_copy(update={"complete": "unsure"})
        return JudgedSubject(unsure, tuple(subs), cut, "; ".join(faults))
    return JudgedSubject(answer, tuple(subs), cut)
