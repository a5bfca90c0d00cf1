"""Has a model name the causes of misses that have no stored name; each name is stored as soon as it is paid for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel
from pydantic import Field as Described

from viva.analysis.options import PROMPTS, EvalAgentOptions
from viva.analysis.runners import open_model
from viva.errors import SetupError
from viva.exam.run_history import RunHistory
from viva.judge.answers import Copied, Form, Unusable
from viva.judge.asking import Conversation, NoAnswer
from viva.judge.copies import Said
from viva.judge.exchange.log import Topic
from viva.judge.refusals import is_content_refused
from viva.judge.trajectory.asking import QUESTION
from viva.judge.view import show_fields
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import digest, render
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE, Usage
from viva.statistics.causes.cause import Cause, CauseName, same_up_to_numbers
from viva.statistics.causes.names import (
    MOST_NAME,
    MOST_SENTENCE,
    CauseNames,
    add_name,
    check_store,
    content_of,
    store_beside,
)
from viva.statistics.causes.tally import CauseTally, Grouping, wording_of
from viva.statistics.misses import Miss, misses_of
from viva.statistics.scores import score_of
from viva.statistics.summary import MOST_CAUSES

PROMPT = PROMPTS / "cause_name.md"
MOST_EXAMPLES = 5
"""Maximum number of misses of a cause that the model is shown; their reasons differ."""
MOST_QUOTES = 2
SHOWN = 600
"""Maximum number of characters of a statement, a reason and a quote."""
PARTS = (("reason", "quotes"), ("reason",), ())
"""What of a miss is shown beside its statement: less, if a provider refuses what an agent or a judge said."""
CAUSES_AT_ONCE = 4


class NameAnswer(BaseModel):
    """A sentence first, then the name that it leads to."""

    reason: str = Described(description="One sentence: what goes wrong in these runs.")
    mark: str = Described(description="The mark of the question, copied exactly.")
    name: str = Described(description=f"A noun phrase of at most {MOST_NAME} characters, on one line.")


def _is_name(answer: NameAnswer) -> None:
    name = answer.name.strip()
    if not any(character.isalpha() for character in name):
        raise Unusable("`name` is empty or has no letter")
    if len(name) > MOST_NAME or one_line(name) != name:
        raise Unusable(f"`name` is not plain text on one line of at most {MOST_NAME} characters: it has {len(name)}")


FORM: Form[NameAnswer] = Form(NameAnswer, ("name",), agree=_is_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedCause:
    """A cause for which the model gave no usable name."""

    cause: str
    """Its id."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCauses:
    """The result of naming causes."""

    named: tuple[CauseName, ...]
    """The new names, those of the causes of most runs first."""
    known: int
    """Causes that had a name, and were not asked about."""
    unnamed: tuple[UnnamedCause, ...]
    usage: Usage
    """What all answers used, including those that could not be used."""
    stored: tuple[str, ...]
    """The files that hold the names."""


@dataclass(slots=True)
class _Examples:
    misses: dict[str, Miss] = field(default_factory=dict)
    """By their reasons, up to numbers."""

    def add(self, miss: Miss) -> None:
        key = same_up_to_numbers(miss.reason or miss.words)
        if len(self.misses) < MOST_EXAMPLES:
            self.misses.setdefault(key, miss)


async def name_causes(
    options: EvalAgentOptions, history: RunHistory, on_named: Callable[[CauseName], None] = lambda name: None
) -> NamedCauses:
    """Name the causes that a report of the same journals shows, except those that have a stored name.

    Args:
        options: The model, its prices and limits.
        history: Journals by their references; names are stored beside each of them.
        on_named: Called with each new name, once it is stored.

    Raises:
        SetupError: there is no model or no cause, a reference is no journal, or the names cannot be stored.
        JournalError: a journal cannot be read.
    """
    grouping, examples = await asyncio.to_thread(_gather, history)
    folders = [folder for folder, _ in history.folders()]
    if len(folders) < len(history.references):
        raise SetupError(
            "the names of causes are stored beside journals, so that each JOURNAL must be the folder of a journal."
        )
    known = CauseNames(folders)
    wanted = [cause for cause in grouping.causes if known.of(cause) is None]
    files = tuple(dict.fromkeys(map(store_beside, folders)))
    answers: list[CauseName | UnnamedCause] = []
    usage = NO_USAGE
    if wanted:
        model, close = await open_model(options, "naming causes")
        try:
            for file in files:
                check_store(file)
            namer = _Namer(model, files, on_named)
            answers = await namer.name_all(wanted, examples)
            usage = namer.usage
        finally:
            await close()
    return NamedCauses(
        named=tuple(each for each in answers if isinstance(each, CauseName)),
        known=len(grouping.causes) - len(wanted),
        unnamed=tuple(each for each in answers if isinstance(each, UnnamedCause)),
        usage=usage,
        stored=tuple(map(_relative, files)),
    )


@dataclass(slots=True)
class _Namer:
    model: Model
    files: tuple[Path, ...]
    on_named: Callable[[CauseName], None]
    usage: Usage = NO_USAGE

    async def name_all(
        self, causes: Iterable[Cause], examples: Mapping[str, _Examples]
    ) -> list[CauseName | UnnamedCause]:
        places = asyncio.Semaphore(CAUSES_AT_ONCE)

        async def one(cause: Cause) -> CauseName | UnnamedCause:
            async with places:
                return await self._name(cause, examples[cause.id].misses.values())

        tasks = [asyncio.ensure_future(one(cause)) for cause in causes]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:  # after an error that concerns all, nothing more is paid for
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _name(self, cause: Cause, misses: Collection[Miss]) -> CauseName | UnnamedCause:
        metered = MeteredModel(self.model)
        try:
            answer = await _asked(metered, cause, misses, PARTS[0])
            for parts in PARTS[1:]:
                if is_content_refused(answer):
                    answer = await _asked(metered, cause, misses, parts)
        finally:
            self.usage += metered.usage
        if isinstance(answer, NoAnswer):
            # A provider's error speaks for itself; the other reasons end with what was wrong with the last answer.
            why = answer.reason if answer.error is None else str(answer.error)
            return UnnamedCause(cause=cause.id, reason=one_line(why, MOST_SENTENCE))
        name = CauseName(
            cause=cause.id,
            content=content_of(cause),
            name=answer.name.strip(),
            reason=one_line(answer.reason, MOST_SENTENCE),
            model=self.model.name,
            prompts={"cause_name": digest(PROMPT), "trajectory_question": digest(QUESTION)},
            usage=metered.usage,
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        for file in self.files:
            add_name(file, name)
        self.on_named(name)
        return name


async def _asked(model: Model, cause: Cause, misses: Collection[Miss], parts: Collection[str]) -> NameAnswer | NoAnswer:
    """Ask for the name of a cause, and show these parts of its examples."""
    fields = {f"Example {number}": _example(miss, parts) for number, miss in enumerate(misses, 1)}
    shown = show_fields({"Label": cause.label, **fields})
    quoted = Said("\n".join(quote for miss in misses for quote in _quotes(miss)))
    conversation = Conversation(model, FORM, render(PROMPT, most=MOST_NAME), shown.text, Topic(cause.id))

    def accept(answer: NameAnswer, last: bool) -> NameAnswer:
        if quoted.holds_reason(answer.name):
            raise Copied("it repeats words of an agent as the name: give your own")
        return answer

    question = render(QUESTION, data=shown.text, marker=shown.marker, mark=conversation.mark)
    return await conversation.ask_until_usable(question, accept)


def _gather(history: RunHistory) -> tuple[Grouping, dict[str, _Examples]]:
    """Read the runs twice: causes are known only once all runs were grouped."""
    tally = CauseTally()
    for record in history.records():
        tally.add(record)
    grouping = tally.grouping(MOST_CAUSES)
    if not grouping.causes:
        raise SetupError("there is no cause to name: no finished run missed anything.")
    examples = {cause.id: _Examples() for cause in grouping.causes}
    for record in history.records():
        for miss in _misses(record):
            if (found := examples.get(grouping.ids.get(wording_of(miss), ""))) is not None:
                found.add(miss)
    return grouping, examples


def _misses(record: RunRecord) -> Iterable[Miss]:
    return () if record.error or score_of(record) is None else misses_of(record)


def _relative(file: Path) -> str:
    here = Path.cwd().resolve()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _quotes(miss: Miss) -> list[str]:
    return [evidence.quote[:SHOWN] for evidence in miss.evidence[:MOST_QUOTES] if evidence.quote]


def _example(miss: Miss, parts: Collection[str]) -> str:
    lines = [f"missed: {miss.words[:SHOWN]}"]
    if "reason" in parts:
        lines.append(f"the judge's reason: {miss.reason[:SHOWN] or '(none)'}")
    if "quotes" in parts:
        lines += [f"quote: {quote}" for quote in _quotes(miss)]
    return "\n".join(lines)
