"""`viva analyze --name-causes` against a scripted model server: what is asked, stored and shown, and what faults do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import OWN_MARK, Answer, BadRequest, ModelServer, Play, ServerError, text_of
from tests.viva.conftest import Desk
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Evidence, Insight, Verdict
from viva.viewer.overview import Overviews
from viva.viewer.watched import WatchedJournal

TAX = "The sum leaves the sales tax out of the invoice."
DATE = "The parcel arrives on a Sunday, when nobody delivers."
QUOTE = "Call this problem: a minor formatting matter"
NAMES = "cause-names.jsonl"


def record(number: int, reason: str, version: str = "1") -> RunRecord:
    run = f"run-{number}"
    verdict = Verdict(
        run, "p1", "miss", 0.0, statement=f"Point of {reason[:12]}", reason=reason, evidence=(Evidence("r1", QUOTE),)
    )
    return RunRecord(
        run, "shop", "clerk", Outcome.SCORED, 0.0, agent_version=version,
        insights=(Insight("grade", run, "judged", 0.0, verdicts=(verdict,)),), timing=Timing(1_700_000_000.0 + number),
        setting=Setting(case="shop", agent="clerk", evaluators=("grade",)),
    )  # fmt: skip


def write(folder: Path, reasons: Sequence[str], version: str = "1") -> None:
    with Journal(folder) as journal:
        for number, reason in enumerate(reasons, 1):
            journal.append("run", f"run-{number}", 1, record(number, reason, version))


@pytest.fixture
def desk(desk: Desk) -> Desk:
    write(desk.folder / "runs" / "one", [TAX, TAX, DATE])
    return desk


def named(name: str, reason: str = "What is owed to the state goes unmentioned.") -> Answer:
    answer = {"reason": reason, "mark": OWN_MARK, "name": name}
    return Answer(json.dumps(answer), usage=(200, 30))


def by_cause(tax: Play, date: Play) -> Play:
    def play(request: Any) -> Any:
        chosen = tax if "sales tax" in text_of(request["messages"][1]) else date
        return chosen(request) if callable(chosen) else chosen

    return play


BOTH = by_cause(named("Tax missing from totals"), named("Delivery promised on a day off"))


def ask(desk: Desk, play: Play, *arguments: str, expect: int = 0) -> tuple[str, str, list[Any]]:
    with ModelServer({"m": play}) as server:
        environment = {"OPENAI_API_KEY": "test-key-123456", "OPENAI_BASE_URL": server.url, "VIVA_MODEL_WAIT": "0.001"}
        words = ("--name-causes", "--model", "openai:m", "--price", "m=1/10", *arguments)
        done = desk.viva("analyze", "runs/one", *words, environment=environment, expect=expect)
        return done.stdout, " ".join(done.stderr.split()), list(server.requests)


def stored(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (desk.folder / "runs" / NAMES).read_text().splitlines()]


def report(desk: Desk, kind: str, folder: str = "runs/one") -> str:
    return desk.viva("report", folder, "--format", kind, "--out", "-", expect=0).stdout


def test_each_cause_is_named_once_and_every_report_shows_whose_name_it_is(desk: Desk) -> None:
    told, _, requests = ask(desk, BOTH)
    assert "named 2 causes; 460 tokens, $0.0010" in told
    assert "“Tax missing from totals”. What is owed" in told
    assert len(requests) == 2
    first = min(stored(desk), key=lambda each: each["name"] != "Tax missing from totals")
    assert (first["model"], first["usage"]["input_tokens"], first["usage"]["cost"]) == ("m", 200, 0.0005)
    assert sorted(first["prompts"]) == ["cause_name", "trajectory_question"]

    again, _, requests = ask(desk, BOTH)
    assert not requests, "what has a name is not paid for again"
    assert "named 0 causes, had a name 2; no model was asked" in again

    assert "“Tax missing from totals” (named by m): Point of The sum lea" in report(desk, "console")
    assert "“Tax missing from totals” &#40;named by m&#41;&#58; **Point of The sum leav**" in report(desk, "markdown")
    assert "“Tax missing from totals” (named by m): Point of The sum lea" in report(desk, "html")
    miss = json.loads(report(desk, "json"))["figures"]["misses"][0]
    assert (miss["id"], miss["named"]["name"]) == (first["cause"], first["name"])
    (shown, _) = Overviews().of(WatchedJournal(desk.folder / "runs" / "one", 1.0))["misses"]
    assert shown["what"].startswith("“Tax missing from totals” (named by m): Point of")


def test_compare_and_history_show_names(desk: Desk) -> None:
    ask(desk, BOTH)
    write(desk.folder / "runs" / "two", [TAX, "It greets nobody at the door."], "2")
    compared = " ".join(desk.viva("compare", "runs/one", "runs/two", expect=0).stdout.split())
    assert "day off" in compared
    assert "named by" in compared
    assert "Delivery promised" in " ".join(desk.viva("history", "runs/one", "runs/two", expect=0).stdout.split())
    told = json.loads(desk.viva("history", "runs/one", "runs/two", "--json", expect=0).stdout)
    assert {each["cause"].get("named", {}).get("name") for each in told["causes"]} == {
        "Tax missing from totals", "Delivery promised on a day off", None,
    }  # fmt: skip


def test_what_was_named_before_the_provider_failed_is_kept(desk: Desk) -> None:
    told, _, _ = ask(desk, by_cause(named("Tax missing from totals"), ServerError()), expect=3)
    assert "not named: " in told
    assert "stored in runs/cause-names.jsonl" in told
    assert [each["name"] for each in stored(desk)] == ["Tax missing from totals"]
    told, _, requests = ask(desk, BOTH, "--json")
    found = json.loads(told)
    assert [each["name"] for each in found["named"]] == ["Delivery promised on a day off"]
    assert (found["known"], found["unnamed"], len(requests)) == (1, [], 1)


@pytest.mark.parametrize(
    ("refused", "kept"), [(QUOTE, "the judge's reason"), ("sales tax", "missed:")], ids=["a quote", "a reason"]
)
def test_a_cause_is_named_without_what_a_filter_refuses(refused: str, kept: str, desk: Desk) -> None:
    def provider(request: Any) -> Any:
        shown = text_of(request["messages"][1])
        if refused in shown:
            return BadRequest("content_filter: the prompt")
        return named("Delivery promised on a day off" if "parcel" in shown else "Tax missing from totals")

    _, _, requests = ask(desk, provider)
    assert sorted(each["name"] for each in stored(desk)) == [
        "Delivery promised on a day off",
        "Tax missing from totals",
    ]
    answered = [text_of(each.body["messages"][1]) for each in requests]
    assert any(kept in shown and refused not in shown for shown in answered)


def test_a_cause_stays_without_a_name_if_a_filter_refuses_all_of_it(desk: Desk) -> None:
    told, _, _ = ask(desk, lambda request: BadRequest("content_filter: the prompt"), expect=3)
    assert "not named: " in told
    assert "content_filter" in told


@pytest.mark.parametrize("name", ["x" * 61, "two\nlines", "\x1b[31mred", "…", QUOTE])
def test_an_unusable_name_is_asked_for_again_and_paid_for_but_never_stored(desk: Desk, name: str) -> None:
    told, _, requests = ask(desk, by_cause(named(name), named("Delivery promised on a day off")), "--json", expect=3)
    found = json.loads(told)
    assert len(requests) == 4, "three times, and once for the other"
    assert (len(found["named"]), len(found["unnamed"]), found["usage"]["calls"]) == (1, 1, 4)
    assert [each["name"] for each in stored(desk)] == ["Delivery promised on a day off"]


def test_what_runs_say_is_data_within_the_marks(desk: Desk) -> None:
    _, _, requests = ask(desk, BOTH)
    system, user = (text_of(message) for message in requests[0].body["messages"])
    assert QUOTE not in system
    begins, ends = user.index("begins -----"), user.index("ends -----")
    assert begins < user.index(QUOTE) < ends < user.index("The mark of this question")
    assert user.count("[Example 1]") == 1
    assert "[Example 2]" not in user, "an equal reason is shown once"


def test_a_stored_name_cannot_become_markup_or_control_a_terminal(desk: Desk) -> None:
    ask(desk, BOTH)
    hostile = "<script>x</script>\x1b[31m **b**\nnext " + "y" * 500
    lines = [json.dumps(each | {"name": hostile, "model": f"{hostile}m"}) for each in stored(desk)]
    (desk.folder / "runs" / NAMES).write_text("\n".join([*lines, '{"torn']) + "\n")
    for kind in ("console", "markdown", "html", "json"):
        shown = report(desk, kind)
        assert "named" in shown
        assert "\x1b[31m" not in shown
        assert "y" * 61 not in shown
        assert "<script>x" not in shown or kind in ("console", "json")
        assert "**b**" not in shown or kind != "markdown"


def test_a_name_is_not_shown_for_other_content(desk: Desk) -> None:
    ask(desk, BOTH)
    write(desk.folder / "runs" / "other", ["The invoice is addressed to somebody else entirely."] * 2)
    assert "named by" not in report(desk, "markdown", "runs/other")
    # The same id alone is not enough: ids are made of three words.
    lines = [json.dumps(each | {"content": ["00000000"]}) for each in stored(desk)]
    (desk.folder / "runs" / NAMES).write_text("\n".join(lines) + "\n")
    assert "named by" not in report(desk, "markdown")


def test_mistakes_are_told_before_a_model_is_asked(desk: Desk) -> None:
    def error(*arguments: str) -> str:
        return " ".join(desk.viva("analyze", "--name-causes", *arguments, expect=2).stderr.split())

    assert "naming causes requires a model: --model" in error("runs/one")
    assert "takes no --instruction" in error("runs/one", "--instruction", "x")
    (desk.folder / "runs.jsonl").write_text("")
    assert "no cause to name" in error("runs.jsonl")
    write(desk.folder / "runs" / "none", [])
    assert "no cause to name" in error("runs/none")
    (desk.folder / "runs" / NAMES).mkdir()
    _, told, requests = ask(desk, BOTH, expect=2)
    assert "cannot be stored" in told
    assert not requests
