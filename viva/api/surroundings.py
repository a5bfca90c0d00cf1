"""Runs suites of Python programs: notes go to the log, and objects only to the engine of this process."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from viva.api.given_parts import find_sinks, find_subscribers
from viva.errors import SetupError
from viva.exam.given import Given
from viva.records.sink import Sink
from viva.records.text import one_line
from viva.suites.conduct import Silence, Surroundings
from viva.suites.engine import Engine, LocalEngine
from viva.suites.engines import EngineChoice

LOG = logging.getLogger("viva")
HERE = EngineChoice()


class Logged(Silence):
    """A display that logs notes as warnings, which Python shows if logging is not configured."""

    def note(self, words: str) -> None:
        """Log something that the user should know."""
        LOG.warning("%s", one_line(words, 1000))

    def warn(self, words: str) -> None:
        """Log something that went wrong outside of the runs."""
        LOG.warning("%s", one_line(words, 1000))

    def announce(self, words: str) -> None:
        """Log what is about to be done."""
        LOG.info("%s", one_line(words, 1000))


def surroundings(
    sinks: str | Sink | Iterable[str | Sink], subscribers: object, given: Given, where: EngineChoice = HERE
) -> Surroundings:
    """Return the engine, display, sinks and subscribers of a suite.

    Raises:
        SetupError: an object is not a sink, or not a subscriber, or the engine cannot be used.
    """
    display = Logged()
    engine = LocalEngine(given=given) if where == HERE else _elsewhere(where, given)
    told = find_subscribers(subscribers, display.note)
    return Surroundings(display, find_sinks(sinks), told, engine)


def _elsewhere(where: EngineChoice, given: Given) -> Engine:
    engine = where.make()
    objects = [*given.agents, *given.evaluators]
    if objects:
        raise SetupError(
            f"{', '.join(objects)}: an object cannot be sent to another process. With engine={where.name!r}, name "
            "agents and evaluators by import string (file.py:Class or package.module:Class)."
        )
    return engine
