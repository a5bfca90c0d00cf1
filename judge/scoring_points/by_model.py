"""Judges scoring points with a language model: one question for each point, and an answer that is checked."""

from __future__ import annotations

from pathlib import Path

from viva.cases import Case, ScoringPoint
from viva.judge.answers import PLANTED
from viva.judge.asking import AskAgain, Conversation, NoAnswer
from viva.judge.evidence import look_up
from viva.judge.exchange.log import Topic
from viva.judge.scoring_points.answer import FORM, PointAnswer
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.view import ShownTranscript, show
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import digest, render
from viva.records.text import storable
from viva.records.transcript import Transcript
from viva.records.verdict import Evidence, Label, Verdict

PROMPTS = Path(__file__).parent / "prompts"
SYSTEM_PROMPT = PROMPTS / "judge.md"
QUESTION_PROMPT = PROMPTS / "scoring_point.md"
LONG = 1_024
"""Number of tokens from which a transcript is long enough to wait for a provider's cache.

OpenAI caches the beginning of a prompt from 1,024 tokens (https://platform.openai.com/docs/guides/prompt-caching).
The system prompt, which all runs share, is about as long by itself, so only what this run adds to it is counted.
"""
BYTES_PER_TOKEN = 4
"""Roughly so many bytes of UTF-8 are one token; tokenizers differ, and need files of their own."""


def prompt_hashes() -> dict[str, str]:
    """Return the hash of each prompt by name, as runs record it."""
    return {"judge": digest(SYSTEM_PROMPT), "scoring_point": digest(QUESTION_PROMPT)}


class ModelJudge:
    """Asks a model about the scoring points of one run."""

    def __init__(self, model: Model, case: Case, subject: str, transcript: Transcript) -> None:
        self.model = MeteredModel(model)
        self._case = case
        self._subject = subject
        self._transcript = transcript
        self._shown: ShownTranscript = show(transcript)

    @property
    def is_long(self) -> bool:
        """Return whether the task and the transcript are long enough that a provider's cache should serve them."""
        shared = f"{self._case.task_description}{self._case.background or ''}{self._shown.text}"
        return len(shared.encode(errors="replace")) >= LONG * BYTES_PER_TOKEN

    async def judge(self, point: ScoringPoint, vote: int = 1) -> Verdict:
        """Return one verdict; an answer that stays unusable becomes `error`, never an exception and never a hit.

        Args:
            point: The scoring point.
            vote: The number of the vote, if the model votes several times.
        """
        topic = Topic(self._subject, point.id, vote)
        conversation = Conversation(self.model, FORM, render(SYSTEM_PROMPT), self._shown.text, topic)
        question = render(
            QUESTION_PROMPT,
            task_description=self._case.task_description.strip(),
            background=(self._case.background or "").strip(),
            transcript=self._shown.text,
            marker=self._shown.marker,
            statement=point.score_point.strip(),
            mark=conversation.mark,
        )
        found = await conversation.ask_until_usable(question, self._accept)
        if isinstance(found, NoAnswer):
            if found.planted:
                return point_verdict(
                    self._subject, point, Label.MISS, found.reason, by=self.model.name, flags=(PLANTED,)
                )
            return point_verdict(self._subject, point, Label.ERROR, found.reason, by=self.model.name, fault=found.fault)
        answer, evidence, flags = found
        reason = storable(answer.reason.strip())
        return point_verdict(
            self._subject, point, answer.verdict, reason, by=self.model.name, evidence=tuple(evidence), flags=flags
        )

    def _accept(self, answer: PointAnswer, last: bool) -> tuple[PointAnswer, list[Evidence], tuple[str, ...]]:
        """Check that a hit rests on the agent's words; a hit without evidence becomes `unsure`.

        Raises:
            AskAgain: the hit has no evidence, and the judge can be asked again.
        """
        flags = ("transcript-cut",) if self._shown.cut else ()
        quotes = [(item.round, item.quote) for item in answer.evidence]
        found, lost = look_up(self._transcript, quotes)
        hit = answer.verdict == Label.HIT.value
        supported = not hit or bool(look_up(self._transcript, quotes, by_agent=True)[0])
        if supported and not (hit and lost and not last):
            return answer, found, (*flags, "quote-not-found") if lost else flags
        fault = _no_evidence(lost, found)
        if last:
            reason = f"{answer.reason} [The judge answered hit, but {fault}.]"
            unsure = PointAnswer(reason=reason, evidence=[], statement_is="undecided", verdict="unsure", mark="")
            return unsure, [], (*flags, "quote-not-found")
        raise AskAgain(
            fault,
            f"You answered hit, but {fault}. Look again and answer in full: quote the agent exactly (its last "
            "words, if the hit rests on something that did not happen), or change the verdict if it rests on words "
            "that nobody said.",
        )


def _no_evidence(lost: list[str], found: list[Evidence]) -> str:
    if lost:
        shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
        return f"these words are not in the transcript: {shown}"
    return (
        "the evidence quotes the examiner, and no words of the agent"
        if found
        else "the evidence quotes nothing from the transcript"
    )
