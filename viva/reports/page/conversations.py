"""Writes conversations for a page within a size limit: one entry for each run, with verdicts at their rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

from viva.journal.reader import StoredRun
from viva.judge.steps import ENDED, input_text, to_text
from viva.records.codec import to_plain
from viva.records.text import one_line, printable
from viva.records.trajectory import how_ended, surroundings, trajectory_steps
from viva.records.transcript import NO_USAGE, Round, Step, Transcript
from viva.records.wording import agent_words, judge_words, sandbox_words, tokens_words
from viva.reports.console.run import record_usage_lines
from viva.reports.console.whys import quoted
from viva.reports.facts import own_threshold_words
from viva.reports.page.asked_views import asked_views
from viva.reports.page.case_papers import Papers
from viva.reports.page.images import PageImages
from viva.reports.page.left_files import left_files
from viva.reports.page.page_parts import PageParts
from viva.reports.page.quote_marks import Segment, segments
from viva.reports.page.round_limit import Shortened, joined_left, within_limit
from viva.reports.page.session_views import SHOWN, captions, plans_of, title_of, told_by
from viva.reports.page.verdict_views import citing, insight_view, quotes_of, subjects_of, verdict_view
from viva.statistics.cells import NOT_TOLD
from viva.statistics.scores import primary_insight

TEXT_LIMIT = 20_000
"""Maximum number of characters of one text."""
PAGE_LIMIT = 32_000_000
"""Maximum size of all runs in bytes. Runs that passed get at most half of it, because readers look at the others."""
MOST_STEPS = 1000
"""Maximum number of steps of one round."""
MOST_VERDICTS = 1000
MOST_ARGUMENTS = 20
STEP_TEXTS = ("observation", "thought", "plan", "tool_input", "result", "error")


@dataclass(slots=True)
class Blocks:
    """Adds conversations to a page until it is full."""

    limit: int = PAGE_LIMIT
    images: PageImages = field(default_factory=PageImages)
    papers: Papers = field(default_factory=Papers)
    size: int = 0
    _refused: set[int] = field(default_factory=set)

    @property
    def left_out(self) -> int:
        """Return the number of conversations that did not fit."""
        return len(self._refused)

    def has_room(self, number: int, *, passed: bool) -> bool:
        """Return whether there is room for one more run, with the number of its row; if not, it is left out for good.

        Args:
            number: The number of the run's row.
            passed: Whether it passed.
        """
        if self.size < (self.limit // 2 if passed else self.limit):
            return True
        self._refused.add(number)
        return False

    def add(self, number: int, stored: StoredRun, attempt: int, parts: PageParts) -> None:
        """Add one run (`c` and its number), and its case before it (`k` and a number).

        Args:
            number: The number of the run's row.
            stored: The conversation.
            attempt: The attempt of the run's record; a newer attempt may have broken off.
            parts: The entries of the page.

        Raises:
            OSError: a part or a picture cannot be written.
        """
        setting = stored.setting if stored.record is None else stored.record.setting
        shown = conversation(stored, attempt, self.images, join=True)
        shown["paper"] = self.papers.number(stored.folder, setting)
        before = parts.size
        for paper, content in self.papers.fresh().items():
            parts.add(f"k{paper}", content)
        parts.add(f"c{number}", shown)
        self.size += parts.size - before


def conversation(stored: StoredRun, attempt: int, images: PageImages, *, join: bool = False) -> dict[str, Any]:
    """Return what the page's script shows of one run. All text is printable, and none of it is markup.

    Args:
        stored: The run.
        attempt: The attempt of its record; a newer attempt may have broken off.
        images: The pictures of the page.
        join: Whether rounds that are left out one after the other share an entry.
    """
    record, transcript = stored.record, stored.transcript
    insights = record.insights if record is not None else stored.insights
    main = primary_insight(record) if record is not None else None
    verdicts = [verdict for insight in insights for verdict in insight.verdicts][:MOST_VERDICTS]
    pictures: list[str] = []
    images.expect(_number_of_pictures(transcript))
    draft = _Shortener(
        stored, quotes_of(verdicts), subjects_of(verdicts, stored.id), citing(verdicts), images, pictures
    )
    asked = asked_views(stored, insights)
    notes = [one_line(note, 500) for note in transcript.notes]
    if stored.attempt != attempt:
        notes.append(f"The score is of attempt {attempt}; attempt {stored.attempt}, which is shown here, did not end.")
    if stored.gap:
        notes.append(f"This conversation has a gap: {stored.gap}.")
    return {
        "id": one_line(stored.id, 200),
        "facts": list(_facts(stored)),
        "error": printable(record.error, TEXT_LIMIT) if record is not None and record.error else None,
        "insights": [insight_view(insight, stored.id, primary=insight is main) for insight in insights],
        "rounds": (joined_left if join else list)(within_limit(draft.rounds())),
        "verdicts": [
            verdict_view(verdict, draft.round_of, stored.id) | ({"asked": view} if view else {})
            for verdict, view in zip_longest(verdicts, asked[: len(verdicts)])
        ],
        "images": pictures,
        "full": draft.full,
        "system": printable(transcript.system, TEXT_LIMIT) if transcript.system else None,
        "given": _given(transcript),
        "final": draft.pictures(transcript.images),
        "captions": captions(transcript.images, transcript.attributes),
        "stop": _stop_words(transcript),
        "detail": printable(transcript.stop_detail, 2000) if transcript.stop_detail else None,
        "notes": notes,
        "files": [list(row) for row in left_files(stored)],
        "replay": f"viva replay {quoted(f'{stored.folder}#{stored.id}')}",
        "printed": [[one_line(name, 20), printable(text, TEXT_LIMIT)] for name, text in transcript.printed.items()],
    }


def _given(transcript: Transcript) -> str | None:
    """Return the turns that the case gave; None if there are none."""
    return "\n\n".join(f"{turn.role}: {printable(turn.content, TEXT_LIMIT)}" for turn in transcript.given) or None


def _stop_words(transcript: Transcript) -> str:
    if transcript.stop is not None:
        return transcript.stop.value
    return NOT_TOLD if transcript.ended else "the conversation did not end"


@dataclass(slots=True)
class _Shortener:
    """Shortens one conversation to what the page shows, and records the round of each step."""

    stored: StoredRun
    quotes: Mapping[str, Sequence[tuple[int, str]]]
    subjects: Mapping[str, Sequence[int]]
    """The verdicts about a round or step, by its id."""
    cited: Mapping[str, Sequence[int]]
    """The sub-goals that cite a round or step, by its id."""
    images: PageImages
    uris: list[str]
    round_of: dict[str, int] = field(default_factory=dict)
    """The number of the first round with a round or step, by its id."""
    full: dict[str, str] = field(default_factory=dict)
    """Maps the number or name of each image that is not shown whole to where the whole one is."""
    _seen: dict[str, int] = field(default_factory=dict)

    def rounds(self) -> Iterator[Shortened]:
        """Yield each round, which is shortened only when it is asked for."""
        named = self.quotes.keys() | self.subjects.keys() | self.cited.keys()
        for round_ in self.stored.transcript.rounds:
            ids = [round_.id]
            if round_.steps:
                ids += [step.id for step in round_.steps]
            for each in ids:
                self.round_of.setdefault(each, round_.number)
            quoted = not named.isdisjoint(ids)
            yield Shortened(round_.number, quoted, partial(self._round, round_, ids, quoted))

    def _round(self, round_: Round, ids: list[str], quoted: bool) -> dict[str, Any]:
        own = self.quotes.get(ids[0], ()) if quoted else ()
        # Most of 100,000 rounds are nothing but two texts: what they lack is not looked for.
        steps = self._shown_steps(round_.steps) if round_.steps else ()
        return {
            "n": round_.number,
            "examiner": self._text(round_.examiner, own),
            "agent": self._text(round_.agent, own),
            "steps": [self._step(step) for step in steps] if steps else [],
            "more": len(round_.steps) - len(steps),
            "error": printable(round_.error, 4000) if round_.error else None,
            "images": self.pictures(round_.images) if round_.images else [],
            "captions": captions(round_.images, round_.attributes) if round_.images else [],
            "plan": [[name, printable(words, 4000)] for name, words in plans_of(round_)] if round_.attributes else [],
            "cites": list(self.cited.get(ids[0], ())) if quoted else [],
            "facts": _round_facts(round_),
            "notes": self._notes(round_, ids) if quoted else [],
        }

    def _notes(self, round_: Round, ids: list[str]) -> list[int]:
        """Return the numbers of the verdicts that are shown at a round."""
        at_steps = {number for step in round_.steps for number in self.subjects.get(step.id, ())}
        quoting = {number for each in set(ids) for number, _ in self.quotes.get(each, ())}
        # A verdict about a step is shown at the step only, and a sub-goal only where it is cited.
        beside = {number for each in ids for number in self.cited.get(each, ())}
        return sorted(((quoting - beside) | set(self.subjects.get(ids[0], ()))) - at_steps)

    def _shown_steps(self, steps: tuple[Step, ...]) -> list[Step]:
        # Of a recorded trace the decisions, and what a verdict is about; the other spans are in the journal.
        wanted = {step.id for step in trajectory_steps(steps)}
        named = self.subjects.keys() | self.quotes.keys()
        return [step for step in steps if step.id in wanted or step.id in named][:MOST_STEPS]

    def _step(self, step: Step) -> dict[str, Any]:
        quotes = self.quotes.get(step.id, ())
        texts = [[title, self._text(words, quotes)] for title, words in step_texts(step)]
        rest = {key: value for key, value in to_plain(step).get("attributes", {}).items() if key not in SHOWN}
        who = "recorded by the environment" if step.from_environment else None
        facts = [who, step.agent, step.model, None if step.seconds is None else f"{step.seconds:.2f} s"]
        return {
            "kind": step.kind.value,
            "title": title_of(step),
            "facts": ", ".join(one_line(fact, 60) for fact in facts if fact),
            "failed": step.error is not None,
            "texts": texts,
            "extra": printable(to_text(rest), 2000) if rest else None,
            "images": self.pictures(step.images),
            "captions": captions(step.images, step.attributes),
            "id": one_line(step.id, 200),
            "cites": list(self.cited.get(step.id, ())),
            "notes": list(self.subjects.get(step.id, ())),
        }

    def _text(self, text: str | None, quotes: Sequence[tuple[int, str]]) -> list[Segment] | None:
        if text is None:
            return None
        shown = printable(text, TEXT_LIMIT)
        if not quotes:
            return [shown] if shown else []
        return segments(shown, quotes)[0]

    def pictures(self, names: Sequence[str]) -> list[int | str]:
        """Return the number of each image in this run's list, or its name if it cannot be shown."""
        shown: list[int | str] = []
        for name in names:
            if name not in self._seen and (uri := self.images.uri(self.stored.folder, name)) is not None:
                self._seen[name] = len(self.uris)
                self.uris.append(uri)
            shown.append(self._seen[name] if name in self._seen else one_line(name, 120))
            if (link := self.images.full(self.stored.folder, name)) is not None:
                self.full[str(shown[-1])] = link
        return shown


def step_texts(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the texts of a step with their titles, in the order in which they are shown."""
    for name in STEP_TEXTS:
        value = getattr(step, name)
        if value is not None:
            yield from _named(name, value)
        if name == "tool_input":
            yield from ((title, input_text(given)) for title, given in surroundings(step))
    if (ended := how_ended(step)) is not None:
        yield ENDED, ended
    yield from told_by(step)


def _round_facts(round_: Round) -> str:
    facts = [f"{round_.agent_seconds:.1f} s"] if round_.agent_seconds >= 0.05 else []
    if round_.usage is not NO_USAGE and round_.usage.tokens:
        facts.append(tokens_words(round_.usage))
    return ", ".join(facts)


def _named(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield titles and texts; a tool's arguments separately, so that code in them keeps its lines."""
    if isinstance(value, Mapping) and 0 < len(value) <= MOST_ARGUMENTS:
        for key, item in value.items():
            yield f"input: {one_line(str(key), 60)}", item if isinstance(item, str) else to_text(item)
    else:
        yield name.replace("tool_input", "input"), value if isinstance(value, str) else to_text(value)


def _number_of_pictures(transcript: Transcript) -> int:
    names = {name for round_ in transcript.rounds for name in round_.images}
    names.update(name for round_ in transcript.rounds for step in round_.steps for name in step.images)
    return len(names | set(transcript.images))


def _facts(stored: StoredRun) -> Iterator[tuple[str, str]]:
    setting, record = stored.setting, stored.record
    inside = f" ({agent_words(setting)})" if agent_words(setting) else ""
    yield "agent", one_line(setting.agent, 200) + inside
    if setting.suite:
        yield "suite", one_line(setting.suite, 100)
    if setting.source:
        yield "source", f"{one_line(setting.source, 300)} ({one_line(setting.place, 300)})"
    yield "examiner", one_line(setting.examiner, 80)
    if setting.persona:
        yield "persona", one_line(setting.persona, 60)
    if setting.strategy:
        yield "strategy", one_line(setting.strategy, 60)
    yield "judge", judge_words(setting)
    if setting.sandbox:
        yield "sandbox", sandbox_words(setting)
    if setting.threshold is not None:
        yield "passes from", own_threshold_words(setting.threshold)
    if record is not None:
        timing = record.timing
        yield "time", f"{timing.seconds:.1f} s (agent {timing.agent_seconds:.1f}, judge {timing.judge_seconds:.1f})"
        for line in record_usage_lines(record):
            yield "tokens", line
    yield "run", f"{one_line(str(stored.folder), 300)}#{one_line(stored.id, 120)}"
