"""Every report shows what every evaluator said: of the run, and of a step or round where that stands."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.viva.reports.browser import Browser
from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.reports.test_page import check_harmless, write_page
from viva.journal.reader import read_records
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Round, Step, Usage
from viva.records.verdict import Evidence, Insight, Label, Verdict
from viva.reports.console.run import print_round, run_report, usage_lines
from viva.reports.console.suite import suite_report
from viva.reports.facts import verdicts_by_subject
from viva.statistics.summary import summarize

RUN = run_id("a case", "agents.py:One", 1)
STEP = Step("s7", tool="search", tool_input={"q": "rain"}, result="It rains in Rome.")


def trajectory(run: str = RUN, score: float | None = 0.5) -> Insight:
    """An evaluator of steps, with a verdict about a step and one about a round."""
    verdicts = (
        Verdict(
            "s7",
            "trajectory",
            "detour",
            0.25,
            reason="The search was not needed.",
            evidence=(Evidence("s7", "rains in Rome"),),
        ),
        Verdict("r1", "trajectory", "optimal", 0.75, reason="The question was understood."),
    )
    return Insight(
        "trajectory", run, "mostly right", score, low=0.4, high=0.6, scores={"plan quality": 0.9},
        summary="One step too many.", notes=("7 tool calls",), verdicts=verdicts,
        usage=Usage(1000, 50, calls=2, cost=0.02),
    )  # fmt: skip


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal") as journal:
        write_run(journal, hits=(True, False), steps=(STEP,), further=(trajectory(),))
    return tmp_path / "journal"


def test_the_console_shows_each_insight_with_its_name_label_scores_summary_and_notes(journal: Path) -> None:
    text = " ".join(report("console", journal).replace("│", " ").split())
    for words in (
        "scoring_points: scored, 0.50 (primary)",
        "trajectory: mostly right, 0.50 (between 0.40 and 0.60, some points are open), plan quality 0.90",
        "One step too many.",
        "7 tool calls",
        "step s7",
        "detour 0.25",
        "The search was not needed.",
        "1/2 = 0.50",
        "judge, trajectory: 1,000 in, 50 out",
    ):
        assert words in text, words


def test_a_score_without_points_stands_alone() -> None:
    insight = Insight("session", "x", "good", 1.0, verdicts=tuple(Verdict("x", "session", "good", 1.0) for _ in "abc"))
    out = io.StringIO()
    Console(file=out, width=120).print(
        run_report(RunRecord("x", "c", "a", Outcome.SCORED, 1.0, low=1.0, high=1.0, insights=(insight,)), Path("j"))
    )
    assert re.search(r"score +1\.00 ", out.getvalue())
    assert "0/3" not in out.getvalue()


def test_a_verdict_stands_at_its_step_and_at_its_round_in_a_printed_conversation() -> None:
    out = io.StringIO()
    verdicts = verdicts_by_subject((trajectory(), Insight("tone", "r1", "polite", 1.0, summary="Kind words.")), RUN)
    print_round(Console(file=out, width=120), Round(1, "Ask.", "Told.", (STEP,)), verdicts)
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert [line.split()[0] for line in lines] == ["1", "step", "result", "verdict", "agent", "verdict", "verdict"]
    assert lines[3].endswith("trajectory: detour 0.25: The search was not needed.")
    assert lines[5].endswith("trajectory: optimal 0.75: The question was understood.")
    assert lines[6].endswith("tone: polite 1.00: Kind words.")


def test_a_suite_on_the_console_has_a_row_for_each_evaluator(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for trial in (1, 2):
            run = run_id("a case", "agents.py:One", trial)
            failed = Insight("trajectory", run, Label.ERROR, None)
            write_run(journal, trial=trial, further=(trajectory(run) if trial == 1 else failed,))
    out = io.StringIO()
    Console(file=out, width=120).print(suite_report(summarize(read_records(tmp_path)), tmp_path))
    (row,) = [line for line in out.getvalue().splitlines() if line.startswith("trajectory")]
    assert re.split(r" *│ *", row.strip()) == ["trajectory", "1", "1", "0.50", "0.40-0.60", "plan quality 0.90"]
    assert "scoring_points (primary)" in out.getvalue()


def test_columns_for_each_evaluator_come_last_in_csv_primary_ones_first(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "plain")
        write_run(journal, "judged", further=(trajectory(run_id("judged", "agents.py:One", 1)),))
        run = run_id("failed", "agents.py:One", 1)
        write_run(journal, "failed", further=(Insight("trajectory", run, Label.ERROR, None),))
        write_run(journal, "open", ended=False)
    rows = list(csv.DictReader(io.StringIO(report("csv", tmp_path), newline=""), strict=True))
    own = [
        f"{name} {what}"
        for name in ("scoring_points", "trajectory")
        for what in ("label", "score", "scores", "summary")
    ]
    assert list(rows[0])[-9:] == ["points_metadata", *own]
    found = {row["case_file"]: (row["trajectory label"], row["trajectory score"]) for row in rows}
    assert found == {"plain": ("", ""), "judged": ("mostly right", "0.5"), "failed": ("error", ""), "open": ("", "")}
    said = {row["case_file"]: (row["trajectory scores"], row["trajectory summary"]) for row in rows}
    assert said["judged"] == ("plan quality 0.90", "One step too many.")


def test_json_has_every_insight_the_primary_ones_name_and_figures_of_each_evaluator(journal: Path) -> None:
    loaded = json.loads(report("json", journal))
    (run,) = loaded["runs"]
    assert run["primary"] == "scoring_points"
    assert [insight["evaluator"] for insight in run["insights"]] == ["scoring_points", "trajectory"]
    (_, found) = loaded["figures"]["evaluators"]
    assert (found["name"], found["judged"], found["mean"], found["scores"]) == (
        "trajectory", 1, 0.5, {"plan quality": 0.9},
    )  # fmt: skip


def test_markdown_and_junit_tell_what_the_other_evaluators_said(journal: Path) -> None:
    text = report("markdown", journal)
    assert "| <code>trajectory</code> | <code>One</code> | 1 | 0 | 0.50 | 0.40-0.60 | plan quality 0.90 |" in text
    assert "trajectory: mostly right, 0.50" in html.unescape(text)
    assert "One step too many." in text
    assert "7 tool calls" in text
    out = ElementTree.fromstring(report("junit", journal)).find(".//system-out")
    assert out is not None
    assert "[[PROPERTY|evaluator=trajectory: mostly right, 0.50" in (out.text or "")
    assert "(One step too many.)" in (out.text or "")


def test_on_the_page_a_verdict_stands_at_its_step_and_at_its_round(journal: Path, browser: Browser) -> None:
    browser.go(write_page(journal), "#run-0")
    step = browser.run("return document.querySelector('details.step').innerText")
    assert "detour" in step
    assert "The search was not needed." in step
    assert browser.run("return document.querySelector('details.step').open")
    assert "The question was understood." in browser.run("return document.querySelector('#round-1 .margin').innerText")
    assert "The search was" not in browser.run("return document.querySelector('#round-3 .margin').innerText")
    text = browser.run("return document.querySelector('#run').innerText")
    for words in ("Trajectory mostly right · 0.50 · plan quality 0.90", "One step too many.", "7 tool calls"):
        assert words in text
    browser.run(
        "Array.from(document.querySelectorAll('button.about')).find((b) => b.textContent === 'step s7').click()"
    )
    assert browser.run("return document.querySelector('.step .verdict').classList.contains('lit')")


def test_the_page_has_a_table_of_evaluators_and_a_column_for_each_further_one(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for trial in (1, 2):
            write_run(journal, trial=trial, further=(trajectory(run_id("a case", "agents.py:One", trial)),))
    browser.go(write_page(tmp_path))
    table = browser.run("return document.querySelector('#evaluators').innerText")
    assert "scoring_points primary" in table
    assert "plan quality 0.90" in table
    assert "trajectory" in browser.run("return document.querySelector('.runs thead').innerText")
    assert "0.50" in browser.run("return document.querySelector('#rows tr').innerText")


def test_usage_that_nobody_reported_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, usage=Usage(cost=0.0))
        write_run(journal, trial=2, usage=Usage(cost=None))
    rows = list(csv.DictReader(io.StringIO(report("csv", tmp_path), newline=""), strict=True))
    assert {(row["tokens"], row["cost"]) for row in rows} == {("unknown", "unknown")}
    for kind in ("console", "markdown"):
        text = report(kind, tmp_path)
        assert "tokens and cost unknown" in text.lower()
        assert not re.search(r"\b0 tokens|\$0\.00", text)
    assert "[[PROPERTY|tokens=unknown]]" in report("junit", tmp_path)
    figures = json.loads(report("json", tmp_path))["figures"]
    assert {(group["tokens"], group["cost"]) for group in (figures["suite"], *figures["agents"])} == {(None, None)}
    one = report("console", f"{tmp_path}#{RUN}")
    assert "target: tokens and cost unknown" in one


@pytest.fixture(scope="module")
def hostile_insights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluators that say hostile things wherever they can."""
    folder = tmp_path_factory.mktemp("insights") / "journal"
    with Journal(folder) as journal:
        for number, text in enumerate(HOSTILE):
            run = run_id(f"case {number}", "agents.py:One", 1)
            verdicts = tuple(
                Verdict(
                    subject,
                    text,
                    text,
                    0.5,
                    reason=text,
                    evidence=(Evidence(text, text),),
                    by=text,
                    statement=text,
                    flags=(text,),
                )
                for subject in ("s7", "r1", text, run)
            )
            other = Insight(
                text,
                text,
                text,
                0.5,
                low=0.1,
                high=0.9,
                scores={text: 0.5},
                summary=text,
                notes=(text,),
                verdicts=verdicts,
            )
            write_run(journal, f"case {number}", hits=(False,), steps=(STEP,), further=(other,))
    return folder


@pytest.mark.parametrize("kind", ["console", "csv", "json", "junit", "markdown", "html"])
def test_what_evaluators_say_is_hostile_text_in_every_report(hostile_insights: Path, kind: str) -> None:
    text = report(kind, hostile_insights)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    if kind == "markdown":
        from tests.viva.reports.test_markdown import check_harmless as check_markdown

        check_markdown(text)
    if kind == "junit":
        ElementTree.fromstring(text.encode())
    if kind == "csv":
        from tests.viva.reports.test_tables import FORMULA

        parsed = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert len({len(row) for row in parsed}) == 1
        assert not [value for row in parsed for value in row if FORMULA.search(value)]


def test_what_evaluators_say_never_becomes_markup_on_the_page(hostile_insights: Path, browser: Browser) -> None:
    target = write_page(hostile_insights)
    browser.complaints()
    browser.go(target)
    check_harmless(browser)
    for number in range(len(HOSTILE)):
        browser.follow(f"#run-{number}")
        check_harmless(browser)
    assert browser.complaints() == []


def test_tokens_of_a_run_of_which_a_part_is_unknown_are_a_lower_bound() -> None:
    assert usage_lines({"target": Usage(10, 3, calls=1, reported=False)})[0].startswith("target: at least 10 in, 3 out")
    assert usage_lines({"target": Usage(10, 3, calls=1)})[0].startswith("target: 10 in, 3 out")
