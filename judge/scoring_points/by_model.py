"""Judges scoring points with a language model: one question for each point, and an answer that is checked."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from viva.cases import Case, ScoringPoint
from viva.cases.points.reader import FILES
from viva.judge.answers import PLANTED
from viva.judge.asking import Conversation, NoAnswer
from viva.judge.exchange.log import Topic
from viva.judge.files.listed import ShownFiles
from viva.judge.files.shown import show_files
from viva.judge.scoring_points.answer import FORM
from viva.judge.scoring_points.grounds import Grounded, Grounds
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.steps import is_recorded, offered_tools
from viva.judge.view import GIVEN, ShownTranscript, show
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import digest, render
from viva.models.retry import status_of
from viva.records.evaluator import Context
from viva.records.text import storable
from viva.records.transcript import Transcript
from viva.records.verdict import Label, Verdict

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


async def judge_of_run(model: Model, transcript: Transcript, case: Case, context: Context) -> ModelJudge:
    """Return the judge of one run, which has looked at the agent's files if the case wants it to."""
    shown = show(transcript)
    files = None
    if FILES in case.evidence:
        look = partial(show_files, context.workspace, case, context.folder, shown.marker)
        files = await asyncio.to_thread(look, pictures=model.features.vision)
    return ModelJudge(model, case, context.subject, transcript, shown, files)


class ModelJudge:
    """Asks a model about the scoring points of one run."""

    def __init__(
        self,
        model: Model,
        case: Case,
        subject: str,
        transcript: Transcript,
        shown: ShownTranscript | None = None,
        files: ShownFiles | None = None,
    ) -> None:
        """Args:
        model: The model.
        case: The case, with the task and the background.
        subject: The id of the run.
        transcript: The conversation.
        shown: The conversation as the model sees it, if it was written already.
        files: The agent's files as the model sees them; None if it does not.
        """
        self.model = MeteredModel(model)
        self._case = case
        self._subject = subject
        self._shown = shown or show(transcript)
        self._grounds = Grounds(transcript, files)

    @property
    def is_long(self) -> bool:
        """Return whether the task and the transcript are long enough that a provider's cache should serve them."""
        files = "" if self._grounds.files is None else self._grounds.files.text
        shared = f"{self._case.task_description}{self._case.background or ''}{self._shown.text}{files}"
        return len(shared.encode(errors="replace")) >= LONG * BYTES_PER_TOKEN

    @property
    def files_digest(self) -> str:
        """Return the digest of the agent's files as the model sees them; empty if it does not."""
        return "" if self._grounds.files is None else self._grounds.files.digest

    async def judge(self, point: ScoringPoint, vote: int = 1) -> Verdict:
        """Return one verdict; an answer that stays unusable becomes `error`, never an exception and never a hit.

        Args:
            point: The scoring point.
            vote: The number of the vote, if the model votes several times.
        """
        if point.round is not None and all(each.number != point.round for each in self._grounds.transcript.rounds):
            reason = f"round {point.round} did not take place"
            return point_verdict(self._subject, point, Label.UNSURE, reason, by=self.model.name)
        found: Grounded | NoAnswer | None = None
        for grounds in self._grounds.in_fewer_words():
            found = await self._ask(point, vote, grounds)
            if not (isinstance(found, NoAnswer) and _is_refused(found.error)):
                break
            # What an agent left must not make its run one that no judge accepts.
        assert found is not None
        if isinstance(found, NoAnswer):
            if found.planted:
                return point_verdict(
                    self._subject, point, Label.MISS, found.reason, by=self.model.name, flags=(PLANTED,)
                )
            return point_verdict(self._subject, point, Label.ERROR, found.reason, by=self.model.name, fault=found.fault)
        reason = storable(found.answer.reason.strip())
        flags = (*(("transcript-cut",) if self._shown.cut else ()), *found.flags)
        return point_verdict(
            self._subject,
            point,
            found.answer.verdict,
            reason,
            by=self.model.name,
            evidence=found.evidence,
            flags=flags,
        )

    async def _ask(self, point: ScoringPoint, vote: int, grounds: Grounds) -> Grounded | NoAnswer:
        files = grounds.files
        said = self._shown.text if files is None else f"{self._shown.text}\n{files.text}"
        topic = Topic(self._subject, point.id, vote)
        conversation = Conversation(self.model, FORM, render(SYSTEM_PROMPT), said, topic)
        question = render(
            QUESTION_PROMPT,
            task_description=self._case.task_description.strip(),
            background=(self._case.background or "").strip(),
            transcript=self._shown.text,
            marker=self._shown.marker,
            given=GIVEN if self._grounds.transcript.given else "",
            files="" if files is None else files.text,
            files_available=files is not None and files.available,
            statement=point.score_point.strip(),
            round=point.round,
            shown=point.shown,
            environment=is_recorded(self._grounds.transcript),
            offered=", ".join(offered_tools(self._grounds.transcript)),
            mark=conversation.mark,
        )
        accept = partial(grounds.check, point)
        return await conversation.ask_until_usable(question, accept, () if files is None else files.parts)


def _is_refused(error: BaseException | None) -> bool:
    """Return whether a provider refused a request for what it holds: it is too long, or has pictures."""
    return any(status_of(each) in (400, 413, 422) for each in (error, getattr(error, "__cause__", None)) if each)
