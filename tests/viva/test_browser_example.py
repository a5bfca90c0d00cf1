"""The example of a browser agent: it works a page in a real Chromium, and its steps are judged by their screenshots."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import KEY, require
from tests.judge.session.asked import captions, pictures, said, sub
from tests.model_server import ModelServer, Request
from tests.viva.conftest import Desk
from tests.viva.reports.browser import Browser, installed
from viva.journal.kept_files import read_sound
from viva.journal.reader import StoredRun, read_runs
from viva.reports.journals import joined
from viva.reports.page import report as page

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "browser"
ANSWER = said(
    "yes",
    sub("both things are on the list", step="4", quote="Call Ann"),
    sub("'Buy tea' is ticked off", step="final", quote=""),
    sub("the list is saved", step="6", quote="Saved: 2 on the list, 1 done."),
    reason="The final screenshot shows both things, the first struck through, and that they were saved.",
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, one_certificate: Path) -> tuple[StoredRun, Path, list[Request]]:
    """The example, run once: what the journal holds, where it lies, and what the judge was sent."""
    require("chromium", installed(), "needs chromium and chromedriver (Debian: chromium-driver)")
    desk = Desk(tmp_path_factory.mktemp("example"))
    with ModelServer({"m": ANSWER}) as server:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "SSL_CERT_FILE": str(one_certificate)}
        done = desk.viva(
            "run", EXAMPLE / "todo_list", "--agent", f"{EXAMPLE / 'browser_agent.py'}:BrowserAgent",
            "--evaluators", "session,scoring_points", "--judge-model", "openai:m", "--examiner", "script",
            "--sandbox", "process", "--out", "j", "--json", expect=0, environment=environment,
        )  # fmt: skip
        requests = [request.body for request in server.requests if request.method == "POST"]
    assert json.loads(done.stdout)["run"]["score"] == 1.0
    (run,) = read_runs(desk.folder / "j")
    return run, desk.folder / "j", requests


def test_each_step_has_a_real_screenshot_and_the_page_did_what_was_asked(
    seen: tuple[StoredRun, Path, list[Request]],
) -> None:
    run, journal, _ = seen
    (round_,) = run.transcript.rounds
    assert [(step.id, step.tool, step.error) for step in round_.steps] == [
        ("1", "type", None), ("2", "click", None), ("3", "type", None), ("4", "click", None), ("5", "click", None),
        ("6", "click", None),
    ]  # fmt: skip
    shots = [read_sound(journal, step.images[0]) for step in round_.steps] + [read_sound(journal, round_.images[0])]
    assert len(set(shots)) == 7
    for shot in shots:
        assert shot is not None
        with Image.open(io.BytesIO(shot)) as opened:
            assert min(opened.size) > 300
    assert round_.agent is not None
    assert "Saved: 2 on the list, 1 done." in round_.agent
    assert run.record is not None
    assert [(insight.evaluator, insight.label) for insight in run.record.insights] == [
        ("session", "yes"), ("scoring_points", "hit"),
    ]  # fmt: skip


def test_the_judge_saw_each_steps_screenshot_and_the_last_in_order(
    seen: tuple[StoredRun, Path, list[Request]],
) -> None:
    _, _, (request,) = seen
    assert len(pictures(request)) == 7
    assert captions(request)[0] == "[1 of 7] screenshot of step 1 (selected controls):"
    assert captions(request)[-1] == "[7 of 7] screenshot that came with the agent's reply in round 1:"


def test_its_report_shows_the_steps_with_what_was_judged_beside_them(
    seen: tuple[StoredRun, Path, list[Request]], tmp_path: Path
) -> None:
    _, journal, _ = seen
    target = tmp_path / "report.html"
    with target.open("w", encoding="utf-8", newline="") as file:
        page.write(joined([str(journal)]), file)
    with Browser(tmp_path / "profile") as browser:
        browser.go(target, "#run-0")
        titles = browser.run("return Array.from(document.querySelectorAll('.step bdi'), (n) => n.textContent)")
        assert titles == [
            "1 · type “Buy tea”", "2 · click", "3 · type “Call Ann”", "4 · click", "5 · click", "6 · click",
        ]  # fmt: skip
        browser.run("document.querySelectorAll('.step img').forEach((image) => image.scrollIntoView())")
        browser.until("Array.from(document.querySelectorAll('.step img')).every((image) => image.naturalWidth > 600)")
        beside = browser.run("return document.querySelectorAll('.step')[3].querySelector('.cite').textContent")
        assert beside == "yesboth things are on the list"
        # The picture and what was thought and done stand side by side on a wide screen.
        left, right = browser.run(
            "return Array.from(document.querySelector('.scene').children, (n) => n.getBoundingClientRect().left)"
        )
        assert left < right
        browser.run("window.scrollTo(0, 0)")
        browser.press("ArrowRight", 4)
        assert browser.run("return document.querySelector('.current').dataset.id") == "4"
        assert browser.complaints() == []
