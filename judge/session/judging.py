"""Asks a model about a session or round. A rejected request is repeated with fewer screenshots, then elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from viva.errors import SchemaError, WithheldError
from viva.judge.answers import NoJson
from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.asking import Shown as Part
from viva.judge.exchange.log import Topic
from viva.judge.session.answer import FORM, SessionAnswer, SubScore, says_something
from viva.judge.session.settings import Screenshots, Settings
from viva.judge.session.shots import ReadPicture, Shown, prepare
from viva.judge.session.trajectory import BY_PICTURE, CLAIMS_ONLY, Citations, FoundEvidence, Subject, show_session
from viva.judge.view import ShownTranscript
from viva.models.metered_model import MeteredModel
from viva.models.model import Model, PictureFile
from viva.models.prompts import digest, render
from viva.models.retry import status_of
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE, Usage

PROMPTS = Path(__file__).parent / "prompts"
GUIDANCE, FORM_PROMPT, QUESTION = PROMPTS / "guidance.md", PROMPTS / "form.md", PROMPTS / "session.md"
TOO_LARGE_OR_REFUSED = frozenset({400, 413, 414, 415, 422})
"""The HTTP statuses with which providers reject a request that is too large or not accepted."""
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

    async def judge(self, subject: Subject, read: ReadPicture) -> JudgedSubject | NoAnswer:
        """Ask about one subject: as the settings say, then with the first and last screenshots, then the backup model.

        Raises:
            SharedSetupError: the model cannot be used at all.
        """
        self.attempts = []
        mode: Screenshots = self.settings.screenshots
        found = await self._attempt(self.model, subject, mode, read)
        if isinstance(found, NoAnswer) and mode == "all" and self.attempts[-1].shown.shots and is_refusal(found):
            mode = "ends"
            found = await self._attempt(self.model, subject, mode, read)
        if isinstance(found, NoAnswer) and self.backup is not None:
            found = await self._attempt(self.backup, subject, mode, read)
        return found

    async def _attempt(
        self, model: Model, subject: Subject, mode: Screenshots, read: ReadPicture
    ) -> JudgedSubject | NoAnswer:
        metered = MeteredModel(model)
        shown = await asyncio.to_thread(prepare, subject.transcript, mode if model.features.vision else "none", read)
        session = show_session(subject)
        topic = Topic(subject.id)
        conversation = Conversation(metered, FORM, system_prompt(self.settings, shown), session.text, topic)
        question, parts = compose(subject, session, shown, conversation.mark)
        citations = Citations(subject, shown)

        def accept(answer: SessionAnswer, last: bool) -> JudgedSubject:
            return _supported(answer, citations, last, cut=session.cut)

        found = await conversation.ask_until_usable(question, accept, parts)
        failed = found.reason if isinstance(found, NoAnswer) else ""
        self.attempts.append(Attempt(model.name, shown, metered.usage, failed))
        return found

    @property
    def usage(self) -> Usage:
        """Return the usage of all attempts at the last subject."""
        return sum((attempt.usage for attempt in self.attempts), NO_USAGE)


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
    )
    end = f"The mark of this question is {mark}."
    return (question, [*_parts(shown), end]) if shown.shots else (f"{question}\n\n{end}", [])


def is_refusal(failed: NoAnswer) -> bool:
    """Return whether a request was too large or refused, so that a smaller one may be answered.

    A model that never wrote any JSON is taken to have refused, because refusals are worded in many ways.
    """
    error = failed.error
    causes = (error, error.__cause__) if error is not None else ()
    if any(isinstance(each, WithheldError | NoJson | SchemaError) for each in causes):
        return True
    return any(status_of(each) in TOO_LARGE_OR_REFUSED for each in causes if each is not None)


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
