"""An alarm is told once, to everybody who can be reached, and ends only when the figures are known to be good again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.journals import edit
from tests.viva.conftest import Desk
from tests.webhooks import NOT_HTTP, Hook, answering
from viva.cli.tracing.follow import Alarm, make_alarm
from viva.errors import SetupError
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE
from viva.records import Usage
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
        self.got.append(alert.below or alert.unjudged or "recovered")

    def measure(self, alert: Alert) -> None:
        pass

    def close(self) -> None:
        pass


def alarm(receiver: Receiver, words: list[str]) -> Alarm:
    return Alarm(
        Path("runs/watched"), [("webhook:http://hook", receiver)], exits=False, tell=words.append, warn=words.append
    )


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
    why = "nothing was scored: 3 judge_error"
    watched.look(look("low"))
    watched.look(look(unjudged=why))
    assert receiver.got == ["low", why]
    assert f"no limit can be checked: {why}" in words
    for _ in range(2):
        watched.look(look("low"))
    assert receiver.got == ["low", why, "low"], "it is still the same alarm, which can be checked again"
    watched.look(look())
    assert receiver.got == ["low", why, "low", "recovered"]
    assert sum(each.startswith("ALERT") for each in words) == 1


def test_everybody_is_told_once_that_no_limit_can_be_checked_and_again_if_that_happens_again() -> None:
    receiver = Receiver(away=1)
    watched = alarm(receiver, [])
    for _ in range(3):
        assert watched.look(look(unjudged="the last poll failed"))
    assert receiver.got == ["the last poll failed"]
    receiver.away = 1
    for _ in range(3):
        watched.look(look())
    assert receiver.got[1:] == ["recovered"], "limits can be checked again"
    watched.look(look(unjudged="it failed again"))
    assert receiver.got[2:] == ["it failed again"]


def test_polls_that_fail_in_the_same_way_are_shown_once() -> None:
    words = list[str]()
    watched = alarm(Receiver(), words)
    for why in ("it failed", "it failed", "it failed in another way", ""):
        watched.look(Poll((), 5, summarize([]), "", why))
    shown = [each for each in words if each.startswith("no limit")]
    assert shown == ["no limit can be checked: it failed", "no limit can be checked: it failed in another way"]


def test_an_ordinary_line_is_no_warning_and_an_alert_is_one() -> None:
    told, warned = list[str](), list[str]()
    watched = Alarm(Path("runs/watched"), [], exits=False, tell=told.append, warn=warned.append)
    watched.look(look())
    watched.look(look("low"))
    assert told == ["1 new run; newest 5: nothing scored"]
    assert warned == ["ALERT: low"]


def sending(*specs: str) -> tuple[Alarm, list[str]]:
    """An alarm as the command line makes it, and what it warns of."""
    warned: list[str] = []
    return make_alarm(Path("runs/watched"), specs, lambda words: None, warned.append), warned


def test_a_webhook_that_refuses_is_named_by_its_host_only(hook: Hook) -> None:
    hook.answers = [500]
    secret = hook.address.replace("://", "://ann:p4ssw0rd@") + "?key=k3y"
    watched, warned = sending(f"webhook:{secret}")
    for _ in range(2):
        assert watched.look(look("low"))
    (warning,) = warned[1:]
    assert warning == (
        "the alert could not be sent to webhook:http://127.0.0.1, and will be repeated: the server answered 500"
    )
    assert [posted["below"] for posted in hook.posted] == ["low", "low"]
    assert {headers["Authorization"] for _, headers, _ in hook.requests} == {"Basic YW5uOnA0c3N3MHJk"}


@pytest.mark.parametrize("answer", NOT_HTTP.values(), ids=NOT_HTTP)
def test_an_answer_that_is_not_http_does_not_end_following(answer: bytes) -> None:
    with answering(answer) as address:
        watched, warned = sending(f"webhook:{address}")
        for _ in range(2):
            assert watched.look(look("low"))
    assert sum("could not be sent to webhook:http://127.0.0.1, and will be repeated" in each for each in warned) == 2
    assert "s3cret" not in " ".join(warned)


def test_a_webhook_is_told_why_no_limit_can_be_checked(hook: Hook) -> None:
    watched, _ = sending(f"webhook:{hook.address}")
    watched.look(look(unjudged="the last poll failed"))
    (posted,) = hook.posted
    assert (posted["event"], posted["unjudged"], posted["below"]) == ("viva.unjudged", "the last poll failed", "")


def test_an_alert_that_is_redirected_counts_as_not_sent(hook: Hook) -> None:
    """A redirected POST becomes a GET without its body."""
    hook.answers = [302]
    watched, warned = sending(f"webhook:{hook.address}")
    watched.look(look("low"))
    assert len(hook.requests) == 1
    assert "the server answered 302" in warned[-1]


def test_two_webhooks_of_one_host_are_both_told(hook: Hook) -> None:
    watched, _ = sending(f"webhook:{hook.address}/one", f"webhook:{hook.address}/two")
    hook.answers = [200, 500]
    for _ in range(2):
        watched.look(look("low"))
    assert [path.rpartition("/")[2] for path, _, _ in hook.requests] == ["one", "two", "two"]


@pytest.mark.parametrize(
    "spec",
    [
        "webhook",
        "webhook:ftp://s3cret/x",
        "webhook:http://host:s3cret/",
        "webhook:http://[::s3cret/",
        "slack:https://host/s3cret",
    ],
)
def test_what_is_no_channel_is_refused_without_what_may_be_secret(spec: str) -> None:
    with pytest.raises(SetupError, match="--alert") as caught:
        sending(spec)
    assert "s3cret" not in str(caught.value)


# Sources that come, and grow, while they are followed.


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


FOLLOW = ("--follow", "--interval", 0.02, "--settle", 0, "--window-min", 1, "--out", "out")


def span(trace: str, number: int, kind: str, **attributes: object) -> dict[str, object]:
    """One span of a dump: the first is the root, and the others are below it."""
    return {
        "trace_id": trace,
        "span_id": f"{number:016x}",
        "parent_id": None if number == 1 else f"{1:016x}",
        "name": f"{kind} {number}",
        "start_time": f"2026-11-22T10:00:{number:02d}Z",
        "end_time": f"2026-11-22T10:00:{number:02d}.5Z",
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


def spans(trace: str, calls: int) -> list[dict[str, object]]:
    first = span(trace, 1, "AGENT", **{"input.value": f"Question of {trace}?"})
    tools = [
        span(trace, number, "TOOL", **{"tool.name": "look", "input.value": f'{{"n": {number}}}', "output.value": "ok"})
        for number in range(2, calls + 2)
    ]
    return [first, *tools]


def save(desk: Desk, *traces: tuple[str, int]) -> None:
    (desk.folder / "new.json").write_text(json.dumps([each for name, calls in traces for each in spans(name, calls)]))
    (desk.folder / "new.json").replace(desk.folder / "spans.json")


def test_a_trace_that_has_grown_is_judged_again_and_marked(desk: Desk) -> None:
    save(desk, ("a", 1), ("b", 1))
    desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 1, expect=0)
    save(desk, ("a", 3), ("b", 1))
    done = desk.viva("trace", "--resume", "out", "--follow", "--settle", 0, "--looks", 2, "--interval", 0.02, expect=0)
    assert done.stderr.count("1 run judged again: the source has more of them now") == 1
    runs = {run.setting.case: run for run in read_runs(desk.folder / "out")}
    assert {case: len(run.transcript.rounds[0].steps) for case, run in runs.items()} == {
        "Question of a?": 4,
        "Question of b?": 2,
    }
    [note] = [note for note in runs["Question of a?"].transcript.notes if "judged again" in note]
    assert note.startswith("judged again: the source has 5 steps of it, and had 3")
    records = {record.subject: record.attempt for record in read_records(desk.folder / "out")}
    assert records == {"Question of a?": 2, "Question of b?": 1}


def cut_off(desk: Desk, attempt: int) -> None:
    """Leave of this attempt at the trace a what an import leaves that is killed after the first round."""
    [run] = {run.id for run in read_runs(desk.folder / "out") if run.setting.case == "Question of a?"}
    later = [
        f'"event":"{kind}","run":"{run}","attempt":{attempt},'.encode() for kind in ("transcript", "insight", "run")
    ]
    edit(desk.folder / "out", lambda line: None if any(head in line[:200] for head in later) else line)


RESUME = ("trace", "--resume", "out", "--follow", "--settle", 0, "--interval", 0.02)


@pytest.mark.parametrize("calls", [3, 5])
def test_a_trace_that_has_grown_is_judged_again_although_its_import_was_cut_off(desk: Desk, calls: int) -> None:
    save(desk, ("a", 1), ("b", 1))
    desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 1, expect=0)
    save(desk, ("a", 3), ("b", 1))
    desk.viva(*RESUME, "--looks", 1, expect=0)
    cut_off(desk, attempt=2)
    save(desk, ("a", calls), ("b", 1))
    desk.viva(*RESUME, "--looks", 1, expect=0)
    runs = {run.setting.case: run for run in read_runs(desk.folder / "out")}
    assert len(runs["Question of a?"].transcript.rounds[0].steps) == calls + 1
    assert {record.subject: record.attempt for record in read_records(desk.folder / "out")} == {
        "Question of a?": 3,
        "Question of b?": 1,
    }
    size = (desk.folder / "out" / FILE).stat().st_size
    desk.viva(*RESUME, "--looks", 2, expect=0)
    assert (desk.folder / "out" / FILE).stat().st_size == size, "nothing is new"


def test_what_a_cut_off_import_left_is_not_mixed_with_what_the_source_has_now(desk: Desk) -> None:
    save(desk, ("a", 1))
    desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 1, expect=0)
    cut_off(desk, attempt=1)
    save(desk, ("a", 3))
    desk.viva("trace", "--resume", "out", expect=0)
    [run] = read_runs(desk.folder / "out")
    assert len(run.transcript.rounds[0].steps) == 4
    assert run.record is not None
    assert run.setting.trial == 1


LATER = """
from pathlib import Path
from viva.recordings.spans.files import SpansReader

READS = Path("reads")


class Later(SpansReader):
    "Reads a file that comes into being between the polls: first it is missing, then empty, then complete."

    def read(self, source, **options):
        READS.write_text(READS.read_text() + "." if READS.exists() else ".")
        if len(READS.read_text()) == 2:
            Path(source).touch()
        if len(READS.read_text()) == 3:
            Path("later.json").rename(source)
        yield from super().read(source, **options)
"""


def test_the_tokens_of_a_recording_that_was_judged_again_count_once(desk: Desk) -> None:
    tokens = {
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 1,
        "llm.output_messages.0.message.content": "x",
    }
    model = {"llm.output_messages.0.message.role": "assistant", **tokens}
    for calls in (1, 2):
        told = [*spans("a", 0), *(span("a", number, "LLM", **model) for number in range(2, calls + 2))]
        (desk.folder / "spans.json").write_text(json.dumps(told))
        begin = ("spans:spans.json", *FOLLOW) if calls == 1 else ("--resume", "out", "--follow", "--settle", 0)
        desk.viva("trace", *begin, "--looks", 1, expect=0)
    [record] = read_records(desk.folder / "out")
    assert record.usage["target"] == Usage(20, 2, calls=2)


def test_what_is_wrong_with_a_source_is_told_once_and_not_at_every_poll(desk: Desk) -> None:
    told = [*spans("a", 1), *spans("b", 1)]
    told[1]["parent_id"] = f"{9:016x}"
    (desk.folder / "spans.json").write_text(json.dumps(told))
    done = desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 3, expect=0)
    assert done.stderr.count("spans whose parent is not in the trace") == 1


def test_a_source_that_does_not_exist_yet_is_waited_for(desk: Desk) -> None:
    save(desk, ("a", 1))
    (desk.folder / "spans.json").rename(desk.folder / "later.json")
    (desk.folder / "later.py").write_text(LATER)
    done = desk.viva("trace", "later.py:Later:spans.json", *FOLLOW, "--looks", 4, expect=0)
    assert re.findall(r"waiting for the source: spans.json: ([^.\n]*)", done.stderr) == [
        "cannot be read: No such file or directory",
        "the file is empty",
    ]
    assert len(list(read_records(desk.folder / "out"))) == 1


def test_a_source_that_never_comes_is_an_error_after_the_last_look(desk: Desk) -> None:
    done = desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 3, expect=2)
    assert "spans.json: cannot be read: No such file or directory" in done.stderr
    assert done.stderr.count("waiting for the source") == 1
    assert not (desk.folder / "out").exists()


@pytest.mark.parametrize("reader", ["spans", "atif", "claude_code", "codex", "inspect", "bedrock", "chat", "langfuse"])
def test_every_reader_of_files_waits_for_one_that_is_not_there(desk: Desk, reader: str) -> None:
    (desk.folder / "empty").mkdir()
    for source in ("gone.jsonl", "empty"):
        done = desk.viva("trace", f"{reader}:{source}", *FOLLOW, "--looks", 2, expect=2)
        waits = not (reader == "chat" and source == "empty")  # it reads files, not folders
        assert done.stderr.count("waiting for the source") == waits, done.stderr


def test_ordinary_lines_of_following_are_no_warnings(desk: Desk) -> None:
    save(desk, ("a", 1))
    done = desk.viva("trace", "spans:spans.json", *FOLLOW, "--looks", 1, expect=0)
    assert "1 new run; newest 1" in done.stderr
    assert "warning:" not in done.stderr
