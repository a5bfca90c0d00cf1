"""One sitting in which a person labels scoring points, blind to what the judge said until the label is given."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from viva.cases import Case
from viva.cli.labelling.keys import END, KeyReader
from viva.cli.labelling.known import known_to_the_judge
from viva.cli.labelling.passages import Passage, passages_about
from viva.journal.reader import StoredRun
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.label_files import RANDOM, HumanLabel, LabelWriter
from viva.records.text import one_line, printable
from viva.records.verdict import RULE, Label
from viva.reports.console.run import print_end, print_round
from viva.statistics.calibration.sample import Candidate

GIVES = {"h": Label.HIT, "m": Label.MISS, "u": Label.UNSURE}
HELP = (
    "h hit, m miss, u unsure, s skip, b back and undo, e where the conversation speaks of it, t conversation again, "
    "n note, q quit"
)
PROMPT = "[h]it [m]iss [u]nsure [s]kip [b]ack [e]vidence [t]ext [n]ote [q]uit? "
SEEN = "given again after the verdict was shown"
"""The note on a label that is not blind."""


def reached(
    ordered: Sequence[Candidate], before: Mapping[tuple[str, str], HumanLabel]
) -> dict[tuple[str, str] | None, list[HumanLabel]]:
    """Return earlier labels of points that were not chosen at random, by the point at which that order passes them.

    None is the end. They are random choices from then on: without them, the others would be a choice of easy points.

    Args:
        ordered: All points in the random order.
        before: The earlier labels by run and point.
    """
    found: dict[tuple[str, str] | None, list[HumanLabel]] = {}
    passed: list[HumanLabel] = []
    for point in ordered:
        if (label := before.get(point.key)) is None:
            found[point.key], passed = passed, []
        elif label.chosen != RANDOM:
            passed.append(label)
    found[None] = passed
    return found


@dataclass(slots=True)
class Sitting:
    """Shows one point after the other, and writes each label at once."""

    console: Console
    keys: KeyReader
    writer: LabelWriter
    rater: str
    load: Callable[[Candidate], tuple[StoredRun, Case | None]]
    """Reads the run of a point."""
    chosen: str = RANDOM
    """How the points were chosen, as labels say it."""
    given: Counter[str] = field(default_factory=Counter)
    """How many labels of each kind apply that were given in this sitting."""
    skipped: int = 0
    _labels: dict[int, str | None] = field(default_factory=dict)
    """What was decided in this sitting, by place; None for a skipped point."""
    _shown: set[int] = field(default_factory=set)
    """The points whose verdict the person has seen."""
    _points: dict[int, tuple[Candidate, str]] = field(default_factory=dict)
    """The points that were labelled in this sitting, by place, with the digest of the conversation."""
    _conversation: str = ""
    """The digest of the conversation that is shown."""
    _note: str = ""
    _passages: list[Passage] | None = None
    _next_passage: int = 0

    def hold(
        self,
        points: Sequence[Candidate],
        done: int,
        total: int,
        reached_with: dict[tuple[str, str] | None, list[HumanLabel]] | None = None,
    ) -> None:
        """Show the points until all are decided, or the person stops.

        Args:
            points: The points to label.
            done: Points of the sample that were labelled before.
            total: Points of the sample.
            reached_with: The labels that the random order reaches with each point, or at the end; see `reached`.
        """
        reached_with = reached_with or {}
        self.console.print(Text(HELP, style="dim"))
        place, run = 0, ""
        while place < len(points):
            point = points[place]
            stored, case = self.load(point)
            if run != stored.id:
                run, self._conversation = stored.id, conversation_digest(stored.transcript)
                self._show_run(stored, case)
            step = self._decide(place, point, stored, f"{done + place + 1}/{total}")
            if step == 0:
                return
            if step > 0:
                self._take_over(reached_with.pop(point.key, ()))
            place = max(0, place + step)
        self._take_over(reached_with.pop(None, ()))

    def _take_over(self, labels: Iterable[HumanLabel]) -> None:
        """Write again, as chosen at random, what had been labelled before the lot reached it."""
        for label in labels:
            self.writer.append(replace(label, chosen=self.chosen))

    def _show_run(self, stored: StoredRun, case: Case | None) -> None:
        self.console.print(Rule(Text(one_line(stored.setting.case or stored.id, 80)), style="dim"))
        if case is not None:
            for name, known in known_to_the_judge(stored, case):
                self.console.print(Text(f"{name}: {known}", style="dim"))
        for round_ in stored.transcript.rounds:
            print_round(self.console, round_)
        print_end(self.console, stored.transcript)

    def _decide(self, place: int, point: Candidate, stored: StoredRun, number: str) -> int:
        """Ask about one point.

        Returns:
            How many points to go on: 1, -1 to go back, 0 to stop.
        """
        began = time.monotonic()
        self._note, self._passages, self._next_passage = "", None, 0
        self._ask(point, number)
        while True:
            typed = self.keys.read()
            key = typed.lower()  # Caps Lock is no reason to refuse a label
            if key in GIVES:
                self._give(place, point, GIVES[key].value, time.monotonic() - began)
                return 1
            if key == "s":
                self._labels[place] = None
                self.skipped += 1
                self.console.print(Text("skipped", style="dim"))
                return 1
            if key == "b":
                if place:
                    self._take_back(place - 1)
                    return -1
                self._again("This is the first point of this sitting.")
            elif key == "e":
                self._show_passage(point, stored)
                self._prompt()
            elif key == "t":
                for round_ in stored.transcript.rounds:
                    print_round(self.console, round_)
                self._ask(point, number)
            elif key == "n":
                self._note = self.keys.read_line(lambda: self.console.print("note: ", end="")).strip()
                self._ask(point, number)
            elif key in ("q", END):
                return 0
            else:
                self._again(HELP if key == "?" else f"{typed!r} is not one of the keys; ? explains them.")

    def _ask(self, point: Candidate, number: str) -> None:
        statement = one_line(point.verdict.statement or point.verdict.criterion, 1000)
        line = Text(f"\n{number}  {statement}", style="bold", overflow="fold")
        line.append(f"  (weight {point.verdict.weight:g})", style="dim not bold")
        self.console.print(line)
        self._prompt()

    def _prompt(self) -> None:
        self.console.print(Text(PROMPT, style="dim"), end="")

    def _again(self, words: str) -> None:
        """Say why nothing happened, and ask again."""
        self.console.print(Text(f"\n{words}", style="yellow"))
        self._prompt()

    def _give(self, place: int, point: Candidate, label: str, seconds: float) -> None:
        note = "; ".join(part for part in (self._note, SEEN if place in self._shown else "") if part)
        self._write(point, self._conversation, label, note, seconds)
        self._labels[place] = label
        self.given[label] += 1
        verdict = point.verdict
        agrees = verdict.label == label
        self.console.print(Text(label, style="bold"))
        by = "a rule" if verdict.by == RULE else one_line(verdict.by, 40)
        words = f"  {by} says {one_line(verdict.label, 20)}: {one_line(verdict.reason, 300)}"
        self.console.print(Text(words, style="dim" if agrees else "yellow", overflow="fold"))
        self._shown.add(place)
        self._points[place] = point, self._conversation

    def _take_back(self, place: int) -> None:
        """Take back what was decided about a point of this sitting."""
        label = self._labels.pop(place, None)
        if label is None:
            self.skipped -= 1
            self.console.print(Text("back", style="dim"))
            return
        self.given[label] -= 1
        self._write(*self._points[place], None)
        self.console.print(Text(f"{label} is taken back", style="dim"))

    def _write(
        self, point: Candidate, conversation: str, label: str | None, note: str = "", seconds: float | None = None
    ) -> None:
        self.writer.append(
            HumanLabel(
                self.rater,
                point.run,
                point.verdict.criterion,
                label,
                case=point.case,
                statement=point.verdict.statement,
                note=note,
                at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                seconds=None if seconds is None else round(seconds, 1),
                conversation=conversation,
                chosen=self.chosen,
            )
        )

    def _show_passage(self, point: Candidate, stored: StoredRun) -> None:
        """Show the next passage that speaks of the point. The judge's quotes would tell what it said."""
        if self._passages is None:
            self._passages = passages_about(stored.transcript, point.verdict.statement)
        if not self._passages:
            self.console.print(Text("\nThe conversation has none of its words.", style="yellow"))
            return
        number = self._next_passage % len(self._passages)
        self._next_passage += 1
        found = self._passages[number]
        head = f"\n[{number + 1} of {len(self._passages)}] round {found.round}, {found.who}: "
        line = Text(head, style="cyan")
        line.append(printable(found.text.strip()), style="default")
        self.console.print(line)
