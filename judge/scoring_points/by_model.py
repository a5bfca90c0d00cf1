"""Judges scoring points with a language model: one question for each point, and an answer that is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from viva.cases import Case, ScoringPoint
from viva.cases.points.reader import FILES
from viva.judge.asking import Conversation, NoAnswer
from viva.judge.copies import PLANTED
from viva.judge.exchange.log import Topic
from viva.judge.files.listed import ShownFiles
from viva.judge.files.shown import show_files
from viva.judge.refusals import attributed, is_content_refused, is_for_less
from viva.judge.scoring_points.answer import FORM, PointAnswer
from viva.judge.scoring_points.grounds import Grounded, Grounds
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.steps import is_recorded, offered_tools
from viva.judge.turns import LESS_WITHOUT_STEPS, Detail
from viva.judge.view import GIVEN, ShownTranscript, show
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import digest, render
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
T = TypeVar("T")


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
        shown, found = await self._until_accepted(point, vote)

        async def again() -> Grounded | NoAnswer:
            nonlocal shown
            shown, found = await self._until_accepted(point, vote, is_for_less)
            return found

        without_agent = partial(self._ask_without_agent, point, vote)
        found = await attributed(found, without_agent, again, LESS_WITHOUT_STEPS[-1])
        if isinstance(found, NoAnswer):
            if found.flag:
                return point_verdict(
                    self._subject, point, Label.UNSURE, found.reason, by=self.model.name, flags=(found.flag,)
                )
            if found.planted:
                return point_verdict(
                    self._subject, point, Label.MISS, found.reason, by=self.model.name, flags=(PLANTED,)
                )
            return point_verdict(self._subject, point, Label.ERROR, found.reason, by=self.model.name, fault=found.fault)
        reason = storable(found.answer.reason.strip())
        flags = (*(("transcript-cut",) if shown.cut else ()), *found.flags)
        return point_verdict(
            self._subject,
            point,
            found.answer.verdict,
            reason,
            by=self.model.name,
            evidence=found.evidence,
            flags=flags,
        )

    async def _until_accepted(
        self, point: ScoringPoint, vote: int, fails: Callable[[object], bool] = is_content_refused
    ) -> tuple[ShownTranscript, Grounded | NoAnswer]:
        """Ask, and ask again with less of what the agent said, did and left as long as the provider refuses that, or
        the judge `fails` in another way.

        What an agent leaves and says must not make its run one that no judge accepts.
        """
        shown = self._shown
        found: Grounded | NoAnswer | None = None
        for shown, grounds in self._in_fewer_words():
            found = await self._ask(point, vote, shown, grounds, partial(grounds.check, point))
            if not fails(found):
                break
        assert found is not None
        return shown, found

    def _in_fewer_words(self) -> Iterator[tuple[ShownTranscript, Grounds]]:
        """Yield what there is to judge by: whole, with less of the files, without the agent's own steps, shorter."""
        grounds = self._grounds
        for grounds in self._grounds.in_fewer_words():
            yield self._shown, grounds
        shown = self._shown
        for detail in LESS_WITHOUT_STEPS:
            less = show(self._grounds.transcript, self._shown.marker, detail)
            if less.text != shown.text:
                shown = less
                yield shown, grounds

    async def _ask_without_agent(self, point: ScoringPoint, vote: int, detail: Detail) -> PointAnswer | NoAnswer | None:
        """Ask the question without anything of the agent's; None if there is nothing of it."""
        nothing = show(self._grounds.transcript, self._shown.marker, detail)
        if nothing.text == self._shown.text and self._grounds.files is None:
            return None
        return await self._ask(point, vote, nothing, self._grounds.without_files(), lambda answer, last: answer)

    async def _ask(
        self,
        point: ScoringPoint,
        vote: int,
        shown: ShownTranscript,
        grounds: Grounds,
        accept: Callable[[PointAnswer, bool], T],
    ) -> T | NoAnswer:
        files = grounds.files
        said = shown.text if files is None else f"{shown.text}\n{files.text}"
        topic = Topic(self._subject, point.id, vote)
        conversation = Conversation(self.model, FORM, render(SYSTEM_PROMPT), said, topic)
        question = render(
            QUESTION_PROMPT,
            task_description=self._case.task_description.strip(),
            background=(self._case.background or "").strip(),
            transcript=shown.text,
            marker=shown.marker,
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
        return await conversation.ask_until_usable(question, accept, () if files is None else files.parts)
