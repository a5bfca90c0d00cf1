"""The session evaluator: judges whether a session of a desktop or browser agent, or a round, fulfilled the request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from viva.journal.images import embedded_picture
from viva.journal.kept_files import read_sound
from viva.judge.asking import NoAnswer
from viva.judge.session.insights import answered, attempt_details, failed, nothing, of_rounds, told
from viva.judge.session.judging import SessionJudge
from viva.judge.session.settings import Settings, load_settings
from viva.judge.session.shots import ReadPicture
from viva.judge.session.trajectory import Subject, given_request_of, of_round, of_session, request_of
from viva.records.evaluator import Context
from viva.records.text import storable
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight

if TYPE_CHECKING:
    from viva.models.model import Model

ROUNDS_AT_ONCE = 4


class SessionEvaluator:
    """Judges by steps and screenshots, after the EvaluationAgent of github.com/microsoft/UFO.

    An insight's label is the model's overall verdict (`yes`, `no`, `unsure`), its score 1 for `yes` and else 0. The
    low bound is 1 only if the sub-goals agree and rest on more than the agent's own claims, the high bound 0 only for
    `no`. The named score `sub_goals` is the share of them that are `yes`.
    """

    name = "session"
    needs = ("model",)

    def __init__(
        self,
        model: Model,
        backup_model: Model | None = None,
        level: str | None = None,
        screenshots: str | None = None,
        apis: str | Path | None = None,
        session_config: str | Path | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Args:
        model: The judge.
        backup_model: The judge if the first gives no usable answer.
        level: `session`, `round` or `both`; this and the next three as `load_settings` takes them.
        screenshots: `all`, `ends` or `none`.
        apis: A file with the descriptions of the APIs.
        session_config: A YAML file with UFO's options.
        settings: Replaces the four settings before it.

        Raises:
            SetupError: a setting is not right.
        """
        self._model, self._backup = model, backup_model
        self.settings = settings or load_settings(level, screenshots, apis, session_config)

    @property
    def prompts(self) -> Mapping[str, str]:
        """Return the hashes of the prompts, including those that replace Viva's own."""
        import hashlib

        from viva.judge.session.judging import prompt_hashes

        own = {"main_prompt": self.settings.main_prompt, "example_prompt": self.settings.example_prompt}
        given = {f"session_{name}": text for name, text in own.items() if text}
        return prompt_hashes() | {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in given.items()}

    async def evaluate(self, transcript: Transcript, context: Context) -> tuple[Insight, ...]:
        """Judge a session, its rounds, or both.

        Returns:
            The insight about the session first, then one for each round if rounds are judged. If only rounds are
            judged, the first insight sums them up.
        """
        task = context.case.task_description if context.case is not None else ""
        return await self.judge_transcript(transcript, context.subject, kept_pictures(context.folder), task=task)

    async def judge_transcript(
        self, transcript: Transcript, run: str, read: ReadPicture, *, task: str = "", request: str | None = None
    ) -> tuple[Insight, ...]:
        """Judge a transcript whose pictures `read` returns. Without a `request`, the rounds supply it."""
        if not transcript.rounds:
            why = f": {transcript.notes[0]}" if transcript.notes else ""
            return (nothing(self.name, run, f"the recording holds nothing to judge{why}"),)
        whole = _requests(transcript, transcript.rounds, task) if request is None else (request, None)
        found: list[Insight] = []
        if self.settings.level in ("session", "both"):
            found.append(await self._judge(of_session(transcript, run, whole[0], self.settings.apis, whole[1]), read))
        if self.settings.level in ("round", "both"):
            free = asyncio.Semaphore(ROUNDS_AT_ONCE)

            async def judge(subject: Subject) -> Insight:
                async with free:
                    return await self._judge(subject, read)

            rounds: list[Subject] = []
            for each in transcript.rounds:
                of_one = (request, None) if request is not None and len(transcript.rounds) == 1 else None
                asked, given = of_one or _requests(transcript, [each], task)
                rounds.append(of_round(transcript, each, asked, self.settings.apis, given))
            judged = await asyncio.gather(*map(judge, rounds))
            if self.settings.level == "round":
                found.append(of_rounds(self.name, run, judged))
            found += judged
        return tuple(found)

    async def _judge(self, subject: Subject, read: ReadPicture) -> Insight:
        began = time.monotonic()
        judge = SessionJudge(self._model, self.settings, self._backup)
        found = await judge.judge(subject, read)
        by = judge.attempts[-1].model
        insight = (
            failed(self.name, subject, found, by)
            if isinstance(found, NoAnswer)
            else answered(self.name, subject, found, by)
        )
        return replace(
            insight,
            notes=(*insight.notes, *told(judge.attempts)),
            usage=judge.usage,
            seconds=time.monotonic() - began,
            details={
                "level": subject.level,
                "request": storable(subject.request),
                **insight.details,
                "attempts": [attempt_details(each) for each in judge.attempts],
            },
        )


def _requests(transcript: Transcript, rounds: Sequence[Round], task: str) -> tuple[str, str]:
    """Return the request of some rounds, and the part of it that no agent can have brought about."""
    return request_of(rounds, task), given_request_of(transcript, rounds, task)


def kept_pictures(folder: Path | None) -> ReadPicture:
    """Return a function that reads the pictures in a journal, and those embedded in the transcript."""

    def read(name: str) -> bytes | None:
        if name.startswith("data:image/"):
            return embedded_picture(name)
        return read_sound(folder, name) if folder is not None else None

    return read
