"""Failed runs of which people labelled the agent and the step that decided, in the form of the Who&When set.

Each line of the file is a run (Zhang et al. 2025, "Which Agent Causes Task Failures and When?", ICML;
https://github.com/ag2ai/Agents_Failure_Attribution): `question`, `history` (a list of `name`, `role` and `content`),
`mistake_agent`, and `mistake_step`, which counts from 0.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.judge.decisive.accuracy import DecisiveAccuracy
from viva.judge.decisive.acts import acts_of, agents_of
from viva.judge.decisive.evaluator import DECISIVE, DecisiveStep
from viva.models.cache.scope import answers_of
from viva.models.model import Model
from viva.records.evaluator import Context
from viva.records.text import counted, one_line, storable
from viva.records.transcript import Round, Step, StepKind, Transcript
from viva.records.verdict import Label, Verdict
from viva.regular_files import MIB, in_words, open_plain

MOST = 256 * MIB
"""Maximum size of a file in bytes."""
MOST_STEPS = 10_000
"""Maximum number of steps of one run."""
RUNS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A failed run, and what people say decided it."""

    name: str
    transcript: Transcript
    agent: str
    step: int
    """The number of the step, from 1."""


@dataclass(frozen=True, slots=True)
class LabelledRuns:
    """The runs of one file."""

    source: str
    digest: str
    """The first 12 hex digits of the file's SHA-256."""
    runs: tuple[LabelledRun, ...]

    @property
    def agents_by_chance(self) -> float:
        """Return the share of the agents that choosing at random finds."""
        return sum(1 / len(agents_of(acts_of(run.transcript))) for run in self.runs) / len(self.runs)

    @property
    def steps_by_chance(self) -> float:
        """Return the share of the steps that choosing at random finds."""
        return sum(1 / len(acts_of(run.transcript)) for run in self.runs) / len(self.runs)


@dataclass(frozen=True, slots=True)
class TriedRun:
    """What a judge said about a labelled run."""

    run: LabelledRun
    step: int | None
    """The number of the step that it named; None if it was unsure, or gave no usable answer."""
    agent: str
    label: str
    """`decisive`, `unsure` or `error`."""
    reason: str

    @property
    def usable(self) -> bool:
        """Return whether the judge gave a usable answer, which may be that it is unsure."""
        return self.label in (DECISIVE, Label.UNSURE)

    @property
    def step_right(self) -> bool:
        """Return whether it is the labelled step."""
        return self.step == self.run.step

    @property
    def near(self) -> bool:
        """Return whether it is the labelled step or one next to it."""
        return self.step is not None and abs(self.step - self.run.step) <= 1

    @property
    def agent_right(self) -> bool:
        """Return whether it is the labelled agent."""
        return self.step is not None and self.agent == self.run.agent


def read_labelled_runs(file: Path) -> LabelledRuns:
    """Read labelled runs.

    Raises:
        SetupError: the file cannot be read, holds no run, or a line is not of the form; names the line.
    """
    shown = one_line(str(file), 200)
    try:
        with open_plain(file) as opened:
            content = opened.read(MOST + 1)
    except OSError as error:
        raise SetupError(f"the labelled runs {shown} cannot be read: {error.strerror}.") from error
    if len(content) > MOST:
        raise SetupError(f"the labelled runs {shown} are larger than {in_words(MOST)}.")
    runs = []
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if line.strip():
            try:
                runs.append(_run(json.loads(line), number))
            except (ValueError, RecursionError) as error:
                raise SetupError(f"{shown}:{number}: is not a labelled run: {one_line(str(error), 200)}.") from None
    if not runs:
        raise SetupError(f"there is not a labelled run in {shown}.")
    return LabelledRuns(file.name, hashlib.sha256(content).hexdigest()[:12], tuple(runs))


async def measure(
    model: Model, labelled: LabelledRuns, on_tried: Callable[[TriedRun], None] = lambda tried: None
) -> tuple[DecisiveAccuracy, list[TriedRun]]:
    """Have a judge find the decisive step of labelled runs, and return how often it was right.

    Args:
        model: The judge.
        labelled: The runs.
        on_tried: Called with each answer.

    Raises:
        SharedSetupError: the model cannot be used at all.
    """
    evaluator, places = DecisiveStep(model), asyncio.Semaphore(RUNS_AT_ONCE)

    async def one(run: LabelledRun) -> TriedRun:
        async with places:
            with answers_of(run.name):
                insight = await evaluator.evaluate(run.transcript, Context(run.name, None, None))
        tried = _tried(run, insight.verdicts)
        on_tried(tried)
        return tried

    tried = list(await asyncio.gather(*map(one, labelled.runs)))
    return (
        DecisiveAccuracy(
            model.name,
            evaluator.prompts,
            runs=len(tried),
            agents_right=sum(each.agent_right for each in tried),
            steps_right=sum(each.step_right for each in tried),
            near=sum(each.near for each in tried),
            unsure=sum(each.label == Label.UNSURE for each in tried),
            unusable=sum(not each.usable for each in tried),
            agents_by_chance=labelled.agents_by_chance,
            steps_by_chance=labelled.steps_by_chance,
            source=labelled.source,
            digest=labelled.digest,
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        ),
        tried,
    )


def _tried(run: LabelledRun, verdicts: Sequence[Verdict]) -> TriedRun:
    verdict = verdicts[0]
    act = next((each for each in acts_of(run.transcript) if each.id == verdict.subject), None)
    if verdict.label != DECISIVE or act is None:
        return TriedRun(run, None, "", str(verdict.label), verdict.reason)
    return TriedRun(run, act.number, act.agent, DECISIVE, verdict.reason)


def _run(data: Any, line: int) -> LabelledRun:
    history = _field(data, "history", list)
    if not 1 <= len(history) <= MOST_STEPS:
        raise ValueError(f"its history has {counted(len(history), 'step')}, not 1 to {MOST_STEPS:,}")
    steps = tuple(_step(each, number) for number, each in enumerate(history, 1))
    written = str(data.get("mistake_step", "")).strip()
    if not written.isdecimal() or int(written) >= len(steps):
        raise ValueError(f"its mistake_step {written!r:.40} is not a step of its history, which count from 0")
    agent = storable(_field(data, "mistake_agent", str))
    if agent not in {step.agent for step in steps}:
        raise ValueError(f"its mistake_agent {agent!r:.60} took no step")
    round_ = Round(1, storable(_field(data, "question", str)), None, steps=steps)
    return LabelledRun(f"run-{line}", Transcript(source="labelled", rounds=(round_,)), agent, int(written) + 1)


def _step(data: Any, number: int) -> Step:
    name = data.get("name") or data.get("role") if isinstance(data, Mapping) else None
    if not isinstance(name, str):
        raise ValueError(f"step {number - 1} of its history has no name")
    content = data.get("content")
    return Step(
        id=f"s{number}", agent=storable(name), kind=StepKind.THINK, thought=storable(str(content or "(nothing)"))
    )


def _field(data: Any, name: str, kind: type[Any]) -> Any:
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, kind):
        raise ValueError(f"it has no {name}")
    return value
