"""Checks what a judge's answer rests on: a hit needs words of the agent, and the layer that its point requires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from viva.cases import ScoringPoint
from viva.judge.asking import AskAgain
from viva.judge.evidence import AGENT, Author, bare_quotes, look_up
from viva.judge.files.listed import NO_FILES, ShownFiles
from viva.judge.scoring_points.answer import PointAnswer
from viva.judge.scoring_points.layers import NEVER_AROSE, NOT_SHOWN, WORDS_ALONE
from viva.records.copies import changed
from viva.records.transcript import Transcript
from viva.records.verdict import Evidence, Label

STEPS: tuple[Author, ...] = ("step",)
SAID: tuple[Author, ...] = ("said",)
DONE: tuple[Author, ...] = ("done",)
SEEN: tuple[Author, ...] = ("seen",)
Quotes = Sequence[tuple[int | None, str]]
_FAULTS = {
    "step": "a hit must rest on a step that was carried out, and no quote is from its tool, input or result",
    "environment": "a hit must rest on a step recorded by the environment, and no quote is from the tool, input or "
    "result of one",
    "said": "a hit must rest on what the agent said to the examiner, and no quote is from its words",
    "file": "a hit must rest on what the agent wrote, and no quote is from a new file, or from what is new in another",
}


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answer with the evidence that was found for it."""

    answer: PointAnswer
    evidence: tuple[Evidence, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the answers about one run can rest on."""

    transcript: Transcript
    files: ShownFiles | None = None
    """None if the judge was not shown the agent's files."""
    round: int | None = None
    """The only round of `transcript`, if a point is bound to it."""

    def in_round(self, number: int) -> Grounds:
        """Return the grounds on which a hit of a point can rest that is bound to a round: of files, none is known."""
        rounds = tuple(each for each in self.transcript.rounds if each.number == number)
        return Grounds(changed(self.transcript, rounds=rounds), None, number)

    def in_fewer_words(self) -> Iterator[Grounds]:
        """Yield these grounds, then with less of the agent's files: without pictures, without contents."""
        yield self
        if self.files is not None and self.files.available:
            if self.files.parts:
                yield replace(self, files=self.files.without_pictures())
            if self.files.listed:
                yield replace(self, files=self.files.names_alone())

    def without_files(self) -> Grounds:
        """Return these grounds as if the agent's files were not there to look at."""
        return self if self.files is None else replace(self, files=NO_FILES)

    def check(self, point: ScoringPoint, answer: PointAnswer, last: bool) -> Grounded:
        """Return the answer with its evidence; a hit without what it needs becomes `unsure` if it is the last answer.

        Raises:
            AskAgain: the hit lacks something, and the judge can be asked again.
        """
        if point.round is not None and self.round is None and answer.verdict == Label.HIT.value:
            return self.in_round(point.round).check(point, answer, last)
        quotes = [(item.round, item.quote) for item in answer.evidence]
        in_files, lost = self._look_up(quotes)
        found = [*in_files[0], *in_files[1]]
        lost_flag = (
            *(("files-cut",) if self.files is not None and self.files.cut else ()),
            *(("quote-not-found",) if lost else ()),
        )
        if answer.verdict != Label.HIT.value:
            return Grounded(answer, tuple(found), lost_flag)
        supported = bool(in_files[1]) or bool(look_up(self.transcript, quotes, by=AGENT)[0])
        if not supported or (lost and not last):
            return _refused(answer, _no_evidence(lost, found, self.round), last, "quote-not-found")
        evidence = (*found, *self._also_in_steps(quotes, found))
        evidence = (*evidence, *(each for each in self._seen(quotes) if each not in evidence))
        never_arose = answer.condition == "never arose"
        # Where its condition never arose, there is nothing that a step or a file could show.
        if point.shown in _FAULTS and not never_arose and not self._is_on(point.shown, quotes, in_files[1]):
            return _refused(answer, _FAULTS[point.shown], last, NOT_SHOWN)
        flags = lost_flag
        if never_arose:
            flags = (*flags, NEVER_AROSE)
        elif point.shown != "said" and self._is_words_alone(quotes, in_files[1]):
            flags = (*flags, WORDS_ALONE)
        return Grounded(answer, evidence, flags)

    def _look_up(self, quotes: Quotes) -> tuple[tuple[list[Evidence], list[Evidence]], list[str]]:
        """Return the evidence in the transcript and that in files, and the quotes that are in neither.

        A quote of round 0 is looked for in the files first, all others in the transcript.
        """
        of_files = [quote for number, quote in quotes if number == 0] if self.files is not None else []
        shown, missing = self.files.find(of_files) if self.files is not None else ([], [])
        said = [(number, quote) for number, quote in quotes if self.files is None or number != 0]
        found, lost = look_up(self.transcript, [*said, *((None, quote) for quote in missing)])
        if self.files is None or not lost:
            return (found, shown), lost
        tried = set(missing)
        more, lost_too = self.files.find([quote for quote in lost if quote not in tried])
        return (found, [*shown, *more]), [*lost_too, *(quote for quote in lost if quote in tried)]

    def _also_in_steps(self, quotes: Quotes, found: Sequence[Evidence]) -> list[Evidence]:
        """Return the steps that show what was found in the agent's words alone."""
        if not self._has_steps:
            return []
        return [each for each in look_up(self.transcript, quotes, by=STEPS)[0] if each not in found]

    def _is_on(self, layer: str | None, quotes: Quotes, in_files: Sequence[Evidence]) -> bool:
        if layer == "file" and self.files is not None:
            return any(self.files.shows_of_the_agent(each.quote) for each in in_files)
        if layer == "environment":
            return bool(self._seen(quotes))
        if layer == "step":
            return self._is_done(quotes)
        return bool(look_up(self.transcript, quotes, by=SAID)[0])

    def _seen(self, quotes: Quotes) -> list[Evidence]:
        """Return the steps that the environment recorded, of those that quotes are from; the agent's own are none."""
        if not any(step.from_environment for round_ in self.transcript.rounds for step in round_.steps):
            return []
        return look_up(self.transcript, bare_quotes(quotes), by=SEEN)[0]

    def _is_done(self, quotes: Quotes) -> bool:
        """Return whether a quote is from what a tool was given or gave back, in a call that took place."""
        return bool(look_up(self.transcript, bare_quotes(quotes), by=DONE)[0])

    def _is_words_alone(self, quotes: Quotes, in_files: Sequence[Evidence]) -> bool:
        """Return whether all evidence is words, although steps or files of the agent were there to go by."""
        if in_files or not (self._has_steps or (self.files is not None and self.files.any_of_the_agents)):
            return False
        return not self._is_done(quotes)

    @property
    def _has_steps(self) -> bool:
        return any(round_.steps for round_ in self.transcript.rounds)


def _refused(answer: PointAnswer, fault: str, last: bool, flag: str) -> Grounded:
    if last:
        reason = f"{answer.reason} [The judge answered hit, but {fault}.]"
        fields = {"reason": reason, "evidence": [], "statement_is": "undecided", "verdict": "unsure", "mark": ""}
        return Grounded(answer.model_copy(update=fields), (), (flag,))
    what = _QUOTE_IT if flag == NOT_SHOWN else _QUOTE_THE_AGENT
    raise AskAgain(fault, f"You answered hit, but {fault}. Look again and answer in full: {what}")


_QUOTE_IT = "quote what shows it, or change the verdict."
_QUOTE_THE_AGENT = (
    "quote the agent exactly (its last words, if the hit rests on something that did not happen), or change the "
    "verdict if it rests on words that nobody said."
)


def _no_evidence(lost: list[str], found: Sequence[Evidence], number: int | None) -> str:
    if lost:
        shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
        where = "the transcript" if number is None else f"round {number}, which alone counts"
        return f"these words are not in {where}: {shown}"
    return (
        "the evidence quotes the examiner, and no words of the agent"
        if found
        else "the evidence quotes nothing from the transcript"
    )
