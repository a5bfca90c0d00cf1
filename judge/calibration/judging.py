"""Has models judge labelled sets, by the evaluator that exams use; each judgement is kept as soon as it is made."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from viva.cases import ScoringPoint
from viva.errors import SetupError
from viva.full_disk import error_words
from viva.journal.append_file import AppendFile
from viva.judge.calibration.sets import LabelledItem, LabelledPoint, LabelledSet
from viva.judge.scoring_points.by_model import ModelJudge, judge_of_run, prompt_hashes
from viva.judge.view import show
from viva.models.model import Model
from viva.records.codec import decode, encode, loads
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Label, Verdict
from viva.regular_files import MIB, in_words, open_plain

ITEMS_AT_ONCE = 8
"""Default of the maximum number of transcripts that are judged concurrently; the points of one are judged in turn."""
MOST = 256 * MIB
"""Maximum size of a file of judgements in bytes: about 400,000 judgements."""


@dataclass(frozen=True, slots=True)
class TriedPoint:
    """What a judge said about a labelled point, beside its right label."""

    item: str
    criterion: str
    """The id of the scoring point."""
    truth: str
    """The right label."""
    verdict: str
    """The judge's label; `error` if it gave none."""
    kind: str = ""
    hostile: bool = False
    cluster: str = ""
    """Points of one cluster are right and wrong together; empty for the item."""
    statement: str = ""
    why: str = ""
    """Why the right label is right."""
    reason: str = ""
    """The judge's reason."""
    weight: float = 1.0
    length: int = 0
    """Number of characters of the transcript, as the judge is shown it."""
    fault: str | None = None
    flags: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    kept: bool = False
    """Whether the judgement is one of an earlier calibration."""

    @property
    def right(self) -> bool:
        """Return whether the judge gave the right label."""
        return self.verdict == self.truth


@dataclass(frozen=True, slots=True)
class KeptJudgement:
    """A judgement as a file keeps it."""

    key: str
    """Digest of all that decides the question: the judge, its prompts, the item and the statement."""
    model: str
    set: str
    """The name of the set."""
    judged: TriedPoint


class Judgements:
    """A file of judgements, one on each line, to which several calibrations may append."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create it and its folder if necessary.

        Raises:
            SetupError: it cannot be read or written.
        """
        self._path = path
        self._kept: dict[str, TriedPoint] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AppendFile(path)
            with open_plain(path) as file:
                content = file.read(MOST + 1)
        except OSError as error:
            raise self._not_written(error) from error
        if len(content) > MOST:
            raise SetupError(f"the file of judgements {path} is larger than {in_words(MOST)}; name another one.")
        for line in content.split(b"\n"):
            self._take(line)

    def _take(self, line: bytes) -> None:
        """Take over a judgement; a line that was torn when its writer was killed is passed over, and judged again."""
        try:
            kept = decode(KeptJudgement, loads(line))
        except (ValueError, RecursionError):
            return
        if kept.judged.fault != Fault.INFRA:
            self._kept[kept.key] = kept.judged

    def find(self, key: str) -> TriedPoint | None:
        """Return an earlier judgement; None if there is none, or if the provider failed in it."""
        return self._kept.get(key)

    def keep(self, judgement: KeptJudgement) -> None:
        """Append a judgement.

        Raises:
            SetupError: it cannot be written.
        """
        try:
            self._file.append(encode(judgement) + b"\n")
        except OSError as error:
            raise self._not_written(error) from error

    def __enter__(self) -> Self:
        """Return this file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _not_written(self, error: OSError) -> SetupError:
        folders = [self._path.parent]
        return SetupError(f"the file of judgements {self._path} cannot be written: {error_words(error, folders)}.")


def judgement_key(
    judge: str, prompts: Mapping[str, str], item: LabelledItem, point: ScoringPoint, files: str = ""
) -> str:
    """Return what two judgements have in common if the same judge was asked the same.

    Args:
        judge: What tells the judge from others.
        prompts: The hash of each of its prompts, by name.
        item: The transcript.
        point: The statement.
        files: The digest of the agent's files that it was shown; empty if it was not.
    """
    shown = [*([files] if files else []), *([f"round {point.round}"] if point.round else [])]
    asked = json.dumps([judge, sorted(prompts.items()), item.digest, point.score_point, point.shown, *shown])
    return hashlib.sha256(asked.encode()).hexdigest()


async def judge_set(
    labelled: LabelledSet,
    model: Model,
    kept: Judgements | None = None,
    *,
    judge: str = "",
    concurrency: int = ITEMS_AT_ONCE,
    on_judged: Callable[[TriedPoint], None] = lambda judged: None,
) -> list[TriedPoint]:
    """Judge all points of a set with a model.

    Args:
        labelled: The set.
        model: The judge.
        kept: Where judgements are kept; those of the same judge about the same question are not paid for again.
        judge: What tells the judge from others of the same name, such as its address; by default its name.
        concurrency: Maximum number of transcripts that are judged concurrently.
        on_judged: Called with each point once it is judged.

    Returns:
        The points in the order of the set.

    Raises:
        SharedSetupError: the model cannot be used at all.
        SetupError: a judgement cannot be kept.
    """
    work = _SetJudge(labelled.name, model, judge or model.name, kept, on_judged)
    slots = asyncio.Semaphore(concurrency)

    async def one(item: LabelledItem) -> list[TriedPoint]:
        async with slots:
            return await work.judge(item)

    tasks = [asyncio.ensure_future(one(item)) for item in labelled.items]
    try:
        judged = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [point for points in judged for point in points]


@dataclass(frozen=True, slots=True)
class _SetJudge:
    """Judges the items of a set one by one."""

    set_name: str
    model: Model
    identity: str
    kept: Judgements | None
    on_judged: Callable[[TriedPoint], None]

    async def judge(self, item: LabelledItem) -> list[TriedPoint]:
        """Judge the points of one item in turn, so that a provider's cache serves all but the first."""
        context = Context(item.id, item.case, item.workspace, folder=item.folder)
        judge = await judge_of_run(self.model, item.transcript, item.case, context)
        prompts = prompt_hashes()
        length = len(show(item.transcript).text)
        judged: list[TriedPoint] = []
        for labelled in item.points:
            point = _labelled(item, labelled, length)
            key = judgement_key(self.identity, prompts, item, labelled.point, judge.files_digest)
            if self.kept is not None and (earlier := self.kept.find(key)) is not None:
                point = _with_judgement(point, earlier)
            else:
                point = await self._ask(judge, labelled, point)
                if self.kept is not None:
                    self.kept.keep(KeptJudgement(key, self.model.name, self.set_name, point))
            self.on_judged(point)
            judged.append(point)
        return judged

    async def _ask(self, judge: ModelJudge, labelled: LabelledPoint, point: TriedPoint) -> TriedPoint:
        spent, began = judge.model.usage, time.monotonic()
        verdict = await judge.judge(labelled.point)
        return _with_verdict(point, verdict, judge.model.usage - spent, time.monotonic() - began)


def _labelled(item: LabelledItem, labelled: LabelledPoint, length: int) -> TriedPoint:
    return TriedPoint(
        item.id,
        labelled.point.id,
        labelled.label,
        Label.ERROR,
        kind=item.kind,
        hostile=item.hostile,
        cluster=item.cluster or item.id,
        statement=labelled.point.score_point,
        why=labelled.why,
        weight=labelled.point.weight,
        length=length,
    )


def _with_verdict(point: TriedPoint, verdict: Verdict, usage: Usage, seconds: float) -> TriedPoint:
    return replace(
        point,
        verdict=str(verdict.label),
        reason=verdict.reason,
        fault=verdict.fault,
        flags=verdict.flags,
        usage=usage,
        seconds=seconds,
    )


def _with_judgement(point: TriedPoint, earlier: TriedPoint) -> TriedPoint:
    """Return the point with an earlier judgement; its label may have been corrected since."""
    return replace(
        point,
        verdict=earlier.verdict,
        reason=earlier.reason,
        fault=earlier.fault,
        flags=earlier.flags,
        usage=earlier.usage,
        seconds=earlier.seconds,
        kept=True,
    )
