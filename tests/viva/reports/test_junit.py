"""JUnit XML: what CI servers read, valid whatever was said."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, write_run, write_suite
from viva.journal.writer import FILE, Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Verdict
from viva.reports.journals import joined
from viva.suites.gates import gate

# Children and attributes (those that must be there first) of Jenkins' junit-10.xsd, of its xunit plugin.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"testsuite"}, set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"properties", "testcase", "testsuite", "system-out", "system-err"},
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
    ),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, set()),
    "testcase": (
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"name"},
        {"time", "classname", "group"},
    ),
    "skipped": (set(), set(), {"type", "message"}),
    "failure": (set(), set(), {"type", "message"}),
    "error": (set(), set(), {"type", "message"}),
    "system-out": (set(), set(), set()),
}


def parse(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text.encode("utf-8"))
    check(root)
    return root


def check(element: ElementTree.Element) -> None:
    children, needed, allowed = SCHEMA[element.tag]
    assert needed <= element.attrib.keys() <= needed | allowed, element.tag
    assert {child.tag for child in element} <= children, element.tag
    assert re.fullmatch(r"\d*(\.\d*)?", element.get("time", ""))
    for child in element:
        check(child)


def test_each_agent_is_a_suite_and_each_run_a_test_case(tmp_path: Path) -> None:
    write_suite(tmp_path, 5, agents=2, trials=3)
    root = parse(report("junit", tmp_path))
    assert [suite.get("name") for suite in root] == ["agents.py:Agent1", "agents.py:Agent2"]
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases)) == "15"
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    assert root.get("tests") == "30"


@pytest.mark.parametrize("ended", [("One", "Two", "Three"), ("Three", "Two", "One")])
def test_agents_are_in_the_same_order_whichever_was_done_first(tmp_path: Path, ended: tuple[str, ...]) -> None:
    with Journal(tmp_path) as journal:
        for name in ended:
            write_run(journal, agent=f"agents.py:{name}")
    names = [suite.get("name") for suite in parse(report("junit", tmp_path))]
    assert names == ["agents.py:One", "agents.py:Three", "agents.py:Two"]


def test_a_run_below_the_threshold_fails_with_the_missed_points_and_their_evidence(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, hits=(True, False), statement="It names the city.", quote="which city you mean")
    for threshold, failures in ((0.5, 0), (0.75, 1)):
        root = parse(report("junit", tmp_path, threshold=threshold))
        assert root.get("failures") == str(failures)
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "1/2 = 0.50"
    assert "MISS (weight 1): It names the city." in (failure.text or "")
    assert "r3: “which city you mean”" in (failure.text or "")
    out = root.find(".//system-out")
    assert out is not None
    assert "[[PROPERTY|score=0.5]]" in (out.text or "")
    values = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert (values["score"], values["threshold"]) == ("0.5", "0.75")


def test_what_is_not_the_agents_fault_is_an_error_and_so_is_a_run_that_never_ended(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for trial, outcome in enumerate((Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR), 1):
            write_run(journal, trial=trial, outcome=outcome, error="it broke")
        write_run(journal, trial=4, outcome=Outcome.TARGET_ERROR, hits=(False,), error="the agent hung")
        write_run(journal, trial=5, ended=False)
    root = parse(report("junit", tmp_path))
    kinds = [error.get("type") for error in root.iter("error")]
    assert kinds == ["examiner_error", "judge_error", "infra_error", "unfinished"]
    (failure,) = root.iter("failure")
    assert failure.get("type") == "target_error"
    assert "the agent hung" in (failure.get("message") or "")


def write_unscored(journal: Journal, trial: int, label: str) -> None:
    """Write a run that was completed without a score."""
    name = run_id("a case", "agents.py:One", trial)
    setting = Setting(case="a case", agent="agents.py:One", evaluators=("my_grade",))
    verdict = Verdict(name, "my_grade", label, None, reason="no thought to judge")
    insight = Insight("my_grade", name, label, None, verdicts=(verdict,))
    record = RunRecord(
        name, "a case", "agents.py:One", Outcome.SCORED, None, trial=trial, insights=(insight,), setting=setting
    )
    journal.append("run", name, 1, record)


def test_a_run_with_nothing_to_judge_is_skipped_with_the_reason_as_gates_do_not_miss_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, trial=1)
        write_unscored(journal, 2, "skipped")
    root = parse(report("junit", tmp_path))
    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == "not scored: no thought to judge"
    assert (root[0].get("skipped"), root[0].get("errors"), root[0].get("failures")) == ("1", "0", "0")
    assert gate(joined([str(tmp_path)]).figures(), 1.0) == (0, "")


def test_a_run_without_a_score_is_an_error_that_says_so(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, trial=1)
        write_unscored(journal, 2, "unsure")
    root = parse(report("junit", tmp_path))
    (error,) = root.iter("error")
    assert error.get("type") == "unscored"
    assert error.get("message") == "not scored: completed, but no evaluator gave a score"
    assert (root[0].get("skipped"), root[0].get("errors")) == ("0", "1")
    assert gate(joined([str(tmp_path)]).figures(), 1.0)[0] == 3


@pytest.mark.parametrize("started", [None, 1e308, -1e308])
def test_a_time_that_is_not_known_or_in_no_calendar_is_left_out(tmp_path: Path, started: float | None) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, ended=started is not None)
    file = tmp_path / FILE
    file.write_text(file.read_text().replace('"started":1760000000.0', f'"started":{started!r}'))
    (suite,) = parse(report("junit", tmp_path))
    assert "timestamp" not in suite.attrib


def test_whatever_was_said_the_document_stays_valid_and_nothing_is_added_to_it(hostile: Path) -> None:
    text = report("junit", hostile)
    root = parse(text)
    assert len(list(root.iter("testcase"))) == len(HOSTILE) + 2
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe\uffff]", text)
    assert any("]]></failure><failure>" in (case.get("name") or "") for case in root.iter("testcase"))
    assert len(text) < 300_000


@pytest.mark.parametrize(("cases", "told"), [(4, False), (5, True)])
def test_the_confidence_interval_is_called_so_and_left_out_of_few_cases(tmp_path: Path, cases: int, told: bool) -> None:
    with Journal(tmp_path) as journal:
        for number in range(cases):
            write_run(journal, f"c{number}", hits=(number % 2 == 0,))
    (suite,) = parse(report("junit", tmp_path))
    properties = {entry.get("name"): float(entry.get("value") or 0) for entry in suite.iter("property")}
    ends = {"score.ci_low", "score.ci_high"}
    assert (ends <= properties.keys()) is told
    assert told is (not ends.isdisjoint(properties))
    if told:
        assert properties["score.ci_low"] < properties["score"] < properties["score.ci_high"]
    assert not properties.keys() & {"score.low", "score.high"}, "that would be the bounds of open verdicts"
