"""An alarm is told once, to everybody who can be reached, and ends only when the figures are known to be good again."""

from __future__ import annotations

from pathlib import Path

from viva.cli.trace_follow import Alarm
from viva.sinks.alerts import Alert
from viva.statistics.summary import summarize
from viva.suites.watching import Poll


class Receiver:
    """A channel that cannot be reached at first."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.got: list[str] = []

    def send(self, alert: Alert) -> None:
        if self.away:
            self.away -= 1
            raise OSError("nobody is there")
        self.got.append(alert.below or "recovered")

    def measure(self, alert: Alert) -> None:
        pass

    def close(self) -> None:
        pass


def alarm(receiver: Receiver, words: list[str]) -> Alarm:
    return Alarm(Path("runs/watched"), [("webhook:http://hook", receiver)], exits=False, tell=words.append)


def look(below: str = "", unjudged: str = "") -> Poll:
    return Poll(("run",), 5, summarize([]), below, unjudged)


def test_an_alert_that_could_not_be_sent_is_sent_at_the_next_look() -> None:
    receiver, words = Receiver(away=2), list[str]()
    watched = alarm(receiver, words)
    for _ in range(4):
        assert watched.look(look("tool_success is low"))
    assert receiver.got == ["tool_success is low"]
    assert sum("could not be sent to webhook:http://hook, and will be repeated" in each for each in words) == 2
    assert sum(each.startswith("ALERT") for each in words) == 1
    watched.look(look())
    assert receiver.got[1:] == ["recovered"]


def test_a_receiver_that_never_knew_of_an_alarm_is_not_told_of_its_end() -> None:
    receiver = Receiver(away=1)
    watched = alarm(receiver, [])
    watched.look(look("low"))
    watched.look(look())
    assert receiver.got == []


def test_an_alarm_does_not_end_because_nothing_could_be_judged() -> None:
    receiver, words = Receiver(), list[str]()
    watched = alarm(receiver, words)
    watched.look(look("low"))
    watched.look(look(unjudged="nothing was scored: 3 judge_error"))
    assert receiver.got == ["low"]
    assert "no limit can be checked: nothing was scored: 3 judge_error" in words
    watched.look(look("low"))
    assert receiver.got == ["low"], "it is still the same alarm"
    watched.look(look())
    assert receiver.got == ["low", "recovered"]
