"""The part of `viva trace` that follows sources: its options, and who is alerted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from viva.cli.options import call_option
from viva.cli.parameter_types import SECONDS, Seconds
from viva.errors import SetupError
from viva.records.text import one_line
from viva.records.wording import counted
from viva.sinks import sink_name
from viva.sinks.alerts import Alert, AlertChannel, make_channel
from viva.suites.watching import Poll, Watch

P = ParamSpec("P")
T = TypeVar("T")
EXIT = "exit"
OPTIONS = ("interval", "settle", "window", "window_min", "looks", "alerts")
"""What only `--follow` takes."""


def follow_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add the options of `--follow`."""
    usual = Watch()
    for option in reversed(
        [
            call_option(
                "--follow", is_flag=True, help="Poll the sources for new recordings, and judge them as they arrive."
            ),
            call_option(
                "--interval",
                type=SECONDS,
                default=usual.interval,
                show_default=True,
                metavar="SECONDS",
                help="With --follow: time between two polls of the source.",
            ),
            call_option(
                "--settle",
                type=Seconds(or_zero=True),
                default=usual.settle,
                show_default=True,
                metavar="SECONDS",
                help="With --follow: minimum time after a recording's last step before it is imported.",
            ),
            call_option(
                "--window",
                type=click.IntRange(1),
                default=usual.window,
                show_default=True,
                metavar="N",
                help="With --follow: --fail-under applies to the figures of the newest N runs.",
            ),
            call_option(
                "--window-min",
                type=click.IntRange(1),
                default=usual.least,
                show_default=True,
                metavar="N",
                help="With --follow: minimum number of runs before an alert.",
            ),
            call_option("--looks", type=click.IntRange(1), metavar="N", help="With --follow: stop after N polls."),
            call_option(
                "--alert",
                "alerts",
                multiple=True,
                metavar="exit|webhook:URL|otel",
                help="With --follow: what to do when a figure falls below its limit. Can be repeated. [default: exit]",
            ),
        ]
    ):
        function = option(function)
    return function


def refuse_without_follow() -> None:
    """Refuse the options of `--follow` where it is not given: they would have no effect.

    Raises:
        SetupError: one of them is given.
    """
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in OPTIONS and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise SetupError(f"viva trace: {option.opts[0]} requires --follow.")


def watch_from(given: Mapping[str, Any]) -> Watch:
    """Make a watch of the options."""
    return Watch(
        interval=given["interval"],
        settle=given["settle"],
        window=given["window"],
        least=min(given["window_min"], given["window"]),
        looks=given["looks"],
    )


@dataclass(slots=True)
class Alarm:
    """Notifies channels when figures fall below their limits, cannot be judged, or recover: once each time."""

    journal: Path
    channels: Sequence[tuple[str, AlertChannel]]
    """The name of each channel in messages, which several may share, and the channel."""
    exits: bool
    """Whether following ends with the first alert."""
    tell: Callable[[str], None]
    """Shows what each poll found."""
    warn: Callable[[str], None]
    """Shows an alert, and what went wrong."""
    rang: bool = False
    """Whether any figure was below its limit in any poll."""
    ringing: bool = field(default=False)
    told: set[int] = field(default_factory=set)
    """The places of the channels that received the present alarm; one that could not be reached is notified at the next
    poll."""
    warned: set[int] = field(default_factory=set)
    """The places of those that were told that no limit can be checked at present."""
    shown: tuple[str, str] = ("", "")
    """What was shown of the poll before: polls that fail in the same way are shown once."""

    def look(self, look: Poll) -> bool:
        """Process one poll; return whether to continue."""
        alert = Alert(str(self.journal), look.runs, look.below, rates_of(look), look.unjudged)
        began = bool(look.below) and not self.ringing
        # A judge that does not answer ends no alarm: nobody knows whether the figure has risen.
        self.ringing = bool(look.below) or (self.ringing and bool(look.unjudged))
        self.rang = self.rang or self.ringing
        words = f"{counted(len(look.new), 'new run')}; newest {look.runs}: {_rates_words(alert)}"
        is_news = bool(look.new) or (words, look.unjudged) != self.shown
        self.shown = words, look.unjudged
        if began:
            self.warn(f"ALERT: {one_line(look.below, 1000)}")
        elif is_news:
            self.tell(words)
        if look.unjudged and is_news:
            self.warn(f"no limit can be checked: {one_line(look.unjudged, 1000)}")
        for place, (name, channel) in enumerate(self.channels):
            try:
                channel.measure(alert)
                if look.unjudged:
                    if place not in self.warned:
                        channel.send(alert)
                        self.warned.add(place)
                    continue
                if place in self.warned or self.ringing != (place in self.told):
                    channel.send(alert)
                    self.warned.discard(place)
                    self.told = self.told | {place} if self.ringing else self.told - {place}
            except OSError as error:
                why = one_line(str(error), 300)
                self.warn(f"the alert could not be sent to {one_line(name, 200)}, and will be repeated: {why}")
        return not (self.exits and look.below)

    def close(self) -> None:
        """Close all channels."""
        for _, channel in self.channels:
            channel.close()


def make_alarm(journal: Path, alerts: Sequence[str], tell: Callable[[str], None], warn: Callable[[str], None]) -> Alarm:
    """Make the alarm of `--alert` options.

    Args:
        journal: The journal.
        alerts: The channels.
        tell: Shows an ordinary line.
        warn: Shows an alert.

    Raises:
        SetupError: there is no such channel.
    """
    wanted = tuple(dict.fromkeys(alerts)) or (EXIT,)
    channels = [(sink_name(spec), make_channel(spec)) for spec in wanted if spec != EXIT]
    return Alarm(journal, channels, EXIT in wanted, tell, warn)


def rates_of(look: Poll) -> dict[str, float]:
    """Return the low bound of each figure of a poll."""
    figures = look.figures
    found = {} if figures.suite.low is None else {"score": figures.suite.low}
    if figures.trajectories is not None:
        found |= {rate.name: rate.low for rate in figures.trajectories.rates if rate.low is not None}
    return found


def _rates_words(alert: Alert) -> str:
    return ", ".join(f"{name} {rate:.2%}" for name, rate in alert.rates.items()) or "nothing scored"
