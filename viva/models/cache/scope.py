"""Identifies the run for which a model is asked, and counts how often it was asked the same question.

Equal questions of two trials, or two votes on one point, are two draws: one kept answer must not stand for both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path


class AnswerScope:
    """The questions of one run, or of a command without runs."""

    def __init__(self, run: str = "") -> None:
        """Args:
        run: The id of the run, which differs from trial to trial; empty for questions outside of runs.
        """
        self.run = run
        self.from_cache = 0
        """Number of answers that were kept from before."""
        self._asked: dict[str, int] = {}
        self._files: set[Path] = set()

    def number(self, question: str) -> int:
        """Return how often a question has been asked, this time included."""
        number = self._asked[question] = self._asked.get(question, 0) + 1
        return number

    def used(self, file: Path) -> None:
        """Note the file of an answer."""
        if (noted := _noted.get()) is not None:
            noted.append(file)
        if self.run:
            self._files.add(file)

    def forget(self) -> None:
        """Remove the kept answers of this run, because they did not lead to a result: the next attempt asks again."""
        for file in self._files:
            _remove(file)
        self._files.clear()


_scope: ContextVar[AnswerScope | None] = ContextVar("answer_scope", default=None)
_noted: ContextVar[list[Path] | None] = ContextVar("noted_answers", default=None)
_no_run = AnswerScope()


class answers_of:  # noqa: N801  # a context manager; a generator takes three times as long
    """Have all questions of this task, and of those that it starts, belong to a run."""

    __slots__ = ("_before", "_scope")

    def __init__(self, run: str) -> None:
        self._scope = AnswerScope(run)

    def __enter__(self) -> AnswerScope:
        self._before = _scope.get()
        _scope.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        _scope.set(self._before)


@contextlib.contextmanager
def noted_answers() -> Iterator[Callable[[], None]]:
    """Note which kept answers this task uses; what is yielded removes them, because none of them was usable."""
    files: list[Path] = []

    def forget() -> None:
        for file in files:
            _remove(file)

    token = _noted.set(files)
    try:
        yield forget
    finally:
        _noted.reset(token)


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):  # its folder vanished, or became another's
        file.unlink()


def current_scope() -> AnswerScope:
    """Return the scope of the present task."""
    return _scope.get() or _no_run
