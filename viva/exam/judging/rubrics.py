"""Chooses the paper by which a recording is judged: that of its subject, or else the common one of the rubric."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from viva.cases import Case, Rubric
from viva.journal.conversation_lines import ConversationLines
from viva.journal.reader import decode_run
from viva.recordings.subjects import subject_of
from viva.records.text import counted, one_line

MOST_NAMED = 10
"""Maximum number of subjects that are named in a note."""


class RubricPapers:
    """The papers of a rubric, by the subjects of recordings; it notes which were used."""

    def __init__(self, rubric: Rubric | None, name: str = "the rubric", *, of_a_case: bool = False) -> None:
        """Args:
        rubric: The rubric; None if recordings are judged without scoring points.
        name: What it is called in notes.
        of_a_case: Whether it was made from a case, whose name may be a subject.
        """
        self._of_a_case = of_a_case
        self._rubric = rubric
        self._name = name
        given = {} if rubric is None else rubric.by_subject
        # A question can be given as it was asked; the subject of a long one is its beginning and a hash.
        self._named = {key: name for name in given for key in (_plain(name), subject_of(name), name)}
        self._used: set[str] = set()
        self._without: set[str] = set()

    @property
    def given(self) -> bool:
        """Return whether there is a rubric."""
        return self._rubric is not None

    @property
    def all(self) -> tuple[Case, ...]:
        """Return all papers."""
        return () if self._rubric is None else self._rubric.papers

    def of(self, subject: str, lines: ConversationLines) -> Case | None:
        """Return the paper of a recording under its subject's name; None if the rubric has none for it.

        Args:
            subject: The task's label, the question, or the position of the recording if it has no label.
            lines: The conversation; the rubric may also name its first question.
        """
        if self._rubric is None:
            return None
        name = self._named.get(subject) or self._named.get(_plain(subject))
        if name is None and self._named:
            name = self._named.get(_plain(_question(lines)))
        paper = self._rubric.common if name is None else self._rubric.by_subject[name]
        if name is not None:
            self._used.add(name)
        if paper is None:
            self._without.add(subject)
            return None
        return replace(paper, name=subject)

    def notes(self) -> list[str]:
        """Return what the user should know: subjects without points, and those of the rubric that nobody has."""
        if self._rubric is None:
            return []
        found = []
        if self._without:
            number = counted(len(self._without), "subject")
            found.append(f"{self._name} has no points for {number}, whose runs are not scored: {_named(self._without)}")
        if unused := self._rubric.by_subject.keys() - self._used:
            found.append(f"no recording has a subject that {self._name} names: {_named(unused)}")
        if self._of_a_case and not self._rubric.by_subject:
            found.append(f"no recording has {self._name} as its subject, so all recordings are judged by its points")
        return found


NO_PAPERS = RubricPapers(None)


def rubric_of(case: Case, subjects: Collection[str]) -> Rubric:
    """Return a case as a rubric: for the recordings whose subject is its name or, if there is none, for all."""
    paper = replace(case, for_recordings=True)
    return Rubric(by_subject={case.name: paper}) if case.name in subjects else Rubric(common=paper)


def _plain(words: str) -> str:
    """Return words without the line breaks and spaces by which one question is written in several ways."""
    return " ".join(words.split())


def _question(lines: ConversationLines) -> str:
    """Return the first message of the user; empty if there is none."""
    rounds = decode_run(lines).transcript.rounds
    return (rounds[0].examiner or "") if rounds else ""


def _named(subjects: Collection[str]) -> str:
    names = sorted(subjects)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(repr(one_line(name, 80)) for name in names[:MOST_NAMED]) + more
