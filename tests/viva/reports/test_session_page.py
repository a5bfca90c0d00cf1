"""A desktop session on the page: captions by role, sub-goals beside the steps they cite, and a walk by arrow keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from tests.ufo_folders import app_line, host_line, make_folder, picture
from tests.viva.reports.browser import Browser
from tests.viva.reports.conftest import report
from tests.viva.reports.test_page import check_harmless, write_page
from viva.cli.group import viva
from viva.journal.images import keep_recorded_pictures
from viva.journal.kept_files import name_for
from viva.journal.writer import Journal
from viva.recordings.desktop.ufo import read_session
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Evidence, Insight, Verdict
from viva.reports.page.conversations import Blocks
from viva.reports.page.images import ONE_LIMIT, PageImages

HOSTILE = "<img src=x onerror=alert(1)>"


def journal_of(folder: Path, journal: Path, *verdicts: Verdict, score: float = 1.0) -> Path:
    """Write a session and its judgement into a journal."""
    transcript = read_session(folder).transcript
    with Journal(journal) as opened:
        opened.append("setting", "s", 1, Setting(case="teams", agent="UFO", source="ufo:t", place="t"))
        kept = keep_recorded_pictures(transcript, opened, folder)
        for round_ in kept.rounds:
            opened.append("round", "s", 1, round_)
        opened.append("transcript", "s", 1, kept.without_rounds())
        insight = Insight("session", "s", "yes", score, verdicts=verdicts)
        opened.append("insight", "s", 1, insight)
        opened.append("run", "s", 1, RunRecord("s", "teams", "UFO", Outcome.SCORED, score, insights=(insight,)))
    return journal


def goal(number: int, label: str, *evidence: Evidence) -> Verdict:
    return Verdict(
        "s", f"sub_goal_{number}", label, 1.0, reason="So it is.", statement=f"goal {number}", evidence=evidence
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    lines = [host_line(), app_line(1), app_line(2), app_line(3, status="FINISH")]
    folder = make_folder(tmp_path / "t", lines, pictures=(1, 2, 3))
    by_picture, by_words, at_end = Evidence("2", ""), Evidence("3", "thought 3"), Evidence("r1", "")
    return write_page(
        journal_of(folder, tmp_path / "j", goal(1, "yes", by_picture), goal(2, "yes", by_words), goal(3, "yes", at_end))
    )


def test_pictures_have_captions_by_their_role(page: Path, browser: Browser) -> None:
    browser.go(page, "#run-0")
    captions = browser.run(
        "return Array.from(document.querySelector('.step').querySelectorAll('figcaption'), (n) => n.textContent)"
    )
    assert captions == ["clean", "annotated", "selected controls", "clean and annotated"]
    assert browser.run("return document.querySelector('.ending figcaption').textContent") == "at the end"
    alt = browser.run("return document.querySelector('.step img').alt")
    assert alt == "clean, image 1 of round 1"
    assert browser.complaints() == []


def test_sub_goals_stand_beside_the_steps_that_they_cite(page: Path, browser: Browser) -> None:
    browser.go(page, "#run-0")
    beside = browser.run(
        "return Array.from(document.querySelectorAll('.step'), (n) => "
        "Array.from(n.querySelectorAll('.cite'), (cite) => cite.textContent))"
    )
    assert beside == [[], ["yesgoal 1"], ["yesgoal 2"]]
    assert browser.run("return document.querySelector('.cites').textContent") == "yesgoal 3"
    assert browser.run("return document.querySelectorAll('.margin .verdict').length") == 0, "each once, and there"
    quotes = browser.run("return Array.from(document.querySelectorAll('.points .quote'), (n) => n.textContent)")
    assert quotes == ["step 2(its screenshot)", "step 3thought 3", "round 1(its screenshot)"]


def test_a_screenshot_as_evidence_leads_to_its_step(page: Path, browser: Browser) -> None:
    browser.go(page, "#run-0")
    browser.click(".points .quote")
    top = browser.run("return document.querySelectorAll('.step')[1].getBoundingClientRect().top")
    assert 0 <= top < 60


def test_the_arrow_keys_walk_from_step_to_step_to_the_end_and_back(page: Path, browser: Browser) -> None:
    browser.go(page, "#run-0")
    current = "return document.querySelector('.current')?.dataset.id ?? document.querySelector('.current')?.className"
    walked = []
    for _ in range(5):
        browser.press("ArrowRight")
        walked.append(browser.run(current))
    assert walked == ["1", "2", "3", "ending current", "ending current"]
    browser.press("ArrowLeft", 2)
    assert browser.run(current) == "2"
    assert browser.run("return document.querySelector('.keys').textContent") == "Step 2 of 3."
    top = browser.run("return document.querySelector('.current').getBoundingClientRect().top")
    assert 0 <= top < 60
    browser.press("Escape")
    browser.until("document.getElementById('run').hidden")


def test_arrow_keys_in_a_field_stay_there(page: Path, browser: Browser) -> None:
    browser.go(page)
    browser.press("Escape")
    browser.until("!document.getElementById('overview').hidden")
    browser.type("#by-text", "abc")
    browser.press("ArrowLeft")
    assert browser.run("return document.activeElement.id") == "by-text"
    assert browser.run("return document.getElementById('by-text').selectionStart") == 2


def test_the_plan_of_the_host_and_what_ufo_notes_with_a_step_are_there(page: Path, browser: Browser) -> None:
    browser.go(page, "#run-0")
    plan = browser.run("return document.querySelector('.plan').textContent")
    assert "send hello to Zac" in plan
    assert "tell the user" in plan
    headings = browser.run(
        "return Array.from(document.querySelector('.step').querySelectorAll('h4'), (n) => n.textContent)"
    )
    assert {"observation", "thought", "plan", "subtask", "comment", "application", "status"} <= set(headings)
    assert browser.run("return document.querySelector('.step summary bdi').textContent") == "1 · click_input"


@pytest.mark.parametrize("kind", ["markdown", "junit"])
def test_other_reports_say_that_the_evidence_is_a_screenshot(kind: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "t", [app_line(1)], pictures=(1,))
    missed = replace(goal(1, "no", Evidence("1", ""), Evidence("1", "thought 1")), score=0.0)
    text = report(kind, journal_of(folder, tmp_path / "j", missed, score=0.0))
    assert "its screenshot" in text
    assert "thought 1" in text


def test_hostile_roles_names_and_plans_become_no_markup(tmp_path: Path, browser: Browser) -> None:
    line = app_line(1, subtask=HOSTILE, comment=HOSTILE, action=[{"function": HOSTILE, "arguments": {"text": HOSTILE}}])
    folder = make_folder(tmp_path / "t", [host_line(plan=[HOSTILE], current_subtask=HOSTILE), line], pictures=(1,))
    transcript = read_session(folder).transcript
    step = transcript.rounds[0].steps[0]
    roles = [HOSTILE, 3, None, {"a": HOSTILE}]
    broken = replace(step, id=f'1"{HOSTILE}', attributes={**step.attributes, "image_roles": roles})
    with Journal(tmp_path / "j") as opened:
        opened.append("setting", "s", 1, Setting(case="teams", agent="UFO", source="ufo:t", place="t"))
        told = replace(transcript, rounds=(replace(transcript.rounds[0], steps=(broken,)),))
        kept = keep_recorded_pictures(told, opened, folder)
        opened.append("round", "s", 1, kept.rounds[0])
        opened.append("transcript", "s", 1, kept.without_rounds())
        verdict = goal(1, "yes", Evidence(broken.id, ""), Evidence(HOSTILE, ""))
        insight = Insight("session", "s", "yes", 1.0, verdicts=(verdict,))
        opened.append("insight", "s", 1, insight)
        opened.append("run", "s", 1, RunRecord("s", "teams", "UFO", Outcome.SCORED, 1.0, insights=(insight,)))
    browser.go(write_page(tmp_path / "j"), "#run-0")
    text = check_harmless(browser)
    assert HOSTILE in text
    assert browser.run("return document.querySelectorAll('.step .cite').length") == 1
    browser.press("ArrowRight")
    assert browser.complaints() == []


def large_session(folder: Path, journal: Path) -> Path:
    """A journal of a session whose clean picture is larger than a page takes, and the others small."""
    make_folder(folder, [app_line(1)], pictures=(1,))
    (folder / "action_step1.png").write_bytes(picture("large", (700, 500), noise=True))
    return journal_of(folder, journal)


FULL = """return Array.from(document.querySelectorAll('.step .pictures a'),
  (link) => [link.getAttribute('href'), link.title, link.querySelector('img') !== null])"""


def test_behind_a_picture_that_is_scaled_down_is_the_full_one(tmp_path: Path, browser: Browser) -> None:
    journal = large_session(tmp_path / "t", tmp_path / "j")
    full = (tmp_path / "t" / "action_step1.png").read_bytes()
    assert len(full) > ONE_LIMIT
    browser.go(write_page(journal), "#run-0")
    ((href, title, shows),) = browser.run(FULL)
    assert (href, title, shows) == (name_for("images", full, "png"), "The full picture", True)
    assert (journal / href).read_bytes() == full
    assert browser.run("return document.querySelectorAll('.step .pictures img').length") == 4
    browser.go(journal / href)
    assert browser.run("return document.querySelector('img').naturalWidth") == 700


def test_a_picture_that_does_not_fit_is_reached_by_its_name(tmp_path: Path, browser: Browser) -> None:
    journal = large_session(tmp_path / "t", tmp_path / "j")
    browser.go(write_page(journal, blocks=Blocks(images=PageImages(limit=900))), "#run-0")
    links = browser.run(FULL)
    assert len(links) == 4
    assert all((journal / href).is_file() and not shows for href, _, shows in links)


@pytest.mark.parametrize("out", ["pages/a page.html", "j/report.html", None])
def test_the_link_leads_from_the_pages_own_folder(out: str | None, tmp_path: Path, browser: Browser) -> None:
    journal = large_session(tmp_path / "t", tmp_path / "j #1")
    (tmp_path / "pages").mkdir()
    target = journal / "report.html" if out is None or out.startswith("j") else tmp_path / out
    arguments = ["--out", str(target)] if out else []
    done = CliRunner().invoke(viva, ["report", str(journal), "--format", "html", *arguments])
    assert done.exit_code == 0, done.output
    browser.go(target, "#run-0")
    ((href, _, _),) = browser.run(FULL)
    full = (tmp_path / "t" / "action_step1.png").read_bytes()
    # In the journal's folder the picture is there already; elsewhere it is copied, so that the journal is not needed.
    folder, *_ = href.split("/")
    assert folder == ("a%20page_files" if out == "pages/a page.html" else "images")
    assert (target.parent / unquote(href)).read_bytes() == full


def test_a_page_on_standard_output_has_no_links(tmp_path: Path) -> None:
    journal = large_session(tmp_path / "t", tmp_path / "j")
    done = CliRunner().invoke(viva, ["report", str(journal), "--format", "html", "--out", "-"])
    assert '"full":{}' in done.output
