"""What a reader sees in the viewer, in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import HOSTILE, keep_image, png, write_run
from tests.viva.viewer.conftest import Reader
from viva.exam.kept_workspaces import workspace_name
from viva.journal.writer import Journal
from viva.judge.calibration.label_files import RANDOM, read_labels
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round, Step, StopReason, Transcript, Usage

Serve = Callable[..., Reader]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Ten runs of two agents; two of them missed a point."""
    with Journal(tmp_path / "suite") as journal:
        for trial in range(1, 6):
            write_run(journal, "addition", "a.py:A", trial, tags=("smoke",))
            write_run(journal, "addition", "b.py:B", trial, hits=(True, trial > 2), reason="the sum is wrong")
    return tmp_path / "suite"


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.run(
        f"return Array.from(document.querySelectorAll({selector!r}), (node) => node.innerText)"
    )
    return found


def test_runs_are_listed_filtered_and_opened_by_keyboard_alone(written: Path, serve: Serve, browser: Browser) -> None:
    browser.complaints()
    browser.open(serve(written).server.address)
    browser.until("document.querySelectorAll('a.row').length === 10")
    assert browser.run("return document.getElementById('status').innerText").split("\n")[0] == "ended"
    browser.press("/")
    for character in "score<1":
        browser.press(character)
    browser.until("document.querySelectorAll('a.row').length === 2")
    assert browser.run("return document.querySelector('output').textContent") == "2 of 10 runs"
    browser.press("Escape")
    browser.press("j")
    browser.press("Enter")
    browser.until("document.querySelectorAll('.round').length === 3")
    assert "the sum is wrong" in browser.run("return document.body.innerText")
    browser.press("Escape")
    browser.until("document.querySelectorAll('a.row').length === 2")
    assert browser.complaints() == []


def test_history_shows_the_causes_of_misses(written: Path, tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "later") as journal:
        for trial in range(6, 11):
            write_run(journal, "addition", "b.py:B", trial, hits=(True, trial > 8), reason="the sum is <b>wrong</b>")
    browser.complaints()
    browser.open(serve(written, tmp_path / "later").server.address + "#/0/history")
    browser.until("document.querySelectorAll('.cause-trends tbody tr').length === 1")
    (row,) = texts(browser, ".cause-trends tbody tr")
    assert ("the sum is" in row, "2 of 5→3 of 5" in row, "more" in row) == (True, True, True)
    assert browser.complaints() == []


def test_a_mistake_in_the_filter_is_explained_and_the_list_stays(written: Path, serve: Serve, browser: Browser) -> None:
    browser.open(serve(written).server.address + "#/0/runs?where=scroe%3C1")
    browser.until("!document.querySelector('main .fault').hidden")
    assert "did you mean score?" in texts(browser, "main .fault")[0]


def test_an_address_leads_to_the_view_that_was_shared(written: Path, serve: Serve, browser: Browser) -> None:
    reader = serve(written)
    browser.open(reader.server.address + "#/0/runs?where=not%20passed&order=-score")
    browser.until("document.querySelectorAll('a.row').length === 2")
    assert browser.run("return document.getElementById('where').value") == "not passed"
    run = reader.json("api/0/runs", where="not passed")["rows"][0]["id"]
    browser.open(f"{reader.server.address}#/0/run/{run}?round=3")
    browser.until("document.getElementById('round-3')")


def test_cases_by_agents_lead_to_each_trial(written: Path, serve: Serve, browser: Browser) -> None:
    browser.open(serve(written).server.address + "#/0/grid")
    browser.until("document.querySelectorAll('.grid .dot').length === 10")
    assert browser.run("return document.querySelectorAll('.grid .dot.failed').length") == 2
    browser.run("document.querySelector('.grid .dot.failed').click()")
    browser.until("document.querySelectorAll('.round').length === 3")


def test_rounds_appear_while_the_conversation_goes_on(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append("setting", "run-1", 1, Setting(case="live", agent="a"))
        journal.append("round", "run-1", 1, Round(1, "first question", "first answer"))
        browser.open(serve(tmp_path / "j").server.address + "#/0/run/run-1")
        browser.until("document.querySelectorAll('.round').length === 1")
        for number in range(2, 121):
            journal.append("round", "run-1", 1, Round(number, f"question {number}", f"answer {number}"))
        browser.until("document.querySelector('form.talk output').textContent === '120 rounds'")
        browser.run(
            "const i = document.querySelector('form.talk input'); i.value = 120; i.dispatchEvent(new Event('change'))"
        )
        browser.until("document.getElementById('round-120')?.innerText.includes('answer 120')")
        assert "The conversation goes on." in texts(browser, ".ending")[0]
        journal.append("transcript", "run-1", 1, Transcript(stop=StopReason.MAX_ROUNDS))
        browser.until("document.querySelector('.ending').innerText.includes('it is being judged')")
        write_run(journal, "another", "a")
    browser.press("Escape")
    browser.until("document.querySelectorAll('a.row').length === 2")


def test_every_round_of_a_long_conversation_can_be_reached(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        write_run(journal, "long", said=[f"answer {number}" for number in range(1, 3001)])
    reader = serve(tmp_path / "j")
    run = reader.json("api/0/runs")["rows"][0]["id"]
    browser.open(f"{reader.server.address}#/0/run/{run}")
    browser.until("document.getElementById('round-1')")
    for number in (3000, 1500, 1, 2999):
        browser.run(
            "const i = document.querySelector('form.talk input');"
            f"i.value = {number}; i.dispatchEvent(new Event('change'))"
        )
        browser.until(f"document.getElementById('round-{number}')?.getBoundingClientRect().top < innerHeight")
        assert f"answer {number}" in browser.run(f"return document.getElementById('round-{number}').innerText")
    assert browser.run("return document.querySelectorAll('.round').length") <= 24 * 50


def test_nothing_that_is_said_becomes_markup(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        picture = keep_image(tmp_path / "j", png())
        for words in HOSTILE:
            write_run(journal, words, words, said=(words,), reason=words, statement=words, images=(picture, words))
        write_run(journal, "x", outcome=Outcome.TARGET_ERROR, hits=(False,), error=HOSTILE[0])
    reader = serve(tmp_path / "j")
    browser.open("about:blank")  # the page of another test asks for its server
    browser.complaints(), browser.requests()
    views = ["#/0/runs", "#/0/grid", *(f"#/0/run/{row['id']}" for row in reader.json("api/0/runs")["rows"])]
    browser.open(reader.server.address)
    for view in views:
        browser.follow(view)
        browser.until("document.querySelectorAll('a.row, .grid .dot, .round').length > 0")
        assert browser.run("return document.querySelectorAll('main script, main iframe, main object').length") == 0
        assert browser.run(
            "return Array.from(document.images).every((image) => new URL(image.src).origin === location.origin)"
        )
    assert browser.complaints() == []
    assert all(address.startswith(reader.server.address) for address in browser.requests())


def test_the_first_view_is_one_request_and_its_data_end_no_element(
    tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    with Journal(tmp_path / "<script>alert(1)<") as journal:
        for number in range(45):
            words = HOSTILE[number % len(HOSTILE)]
            write_run(journal, f"{words} {number}", words, hits=(False,), reason=words)
    reader = serve(tmp_path / "<script>alert(1)<")
    browser.open("about:blank")  # the page of another test asks for its server
    browser.complaints(), browser.requests()
    browser.open(reader.server.address)
    browser.until("document.querySelectorAll('a.row').length > 15")
    browser.run("await new Promise((done) => setTimeout(done, 100))")
    asked = [address.removeprefix(reader.server.address) for address in browser.requests()]
    assert sorted(asked) == ["", "api/events", "page/viewer.css", "page/viewer.js"]
    assert browser.run("return document.querySelector('output').textContent") == "45 runs"
    browser.run("document.querySelector('.scroller').scrollTop = 1e6")
    browser.until("document.querySelector('.window > :last-child').innerText.includes(' 44')")
    # An answer of the start is not kept for later questions.
    with Journal(tmp_path / "<script>alert(1)<") as journal:
        write_run(journal, "another")
    browser.until("document.querySelector('output').textContent === '46 runs'")
    assert browser.complaints() == []


def test_the_page_can_be_read_on_a_telephone(written: Path, serve: Serve, browser: Browser) -> None:
    reader = serve(written)
    rows = reader.json("api/0/runs")["rows"][:2]
    run, other = (row["id"] for row in rows)
    browser.width(390)
    try:
        for view, shown in (
            ("runs", "a.row"),
            ("grid", ".dot"),
            (f"run/{run}", ".round"),
            (f"beside?runs={run},{other}", ".beside .round"),
        ):
            browser.open(f"{reader.server.address}#/0/{view}")
            browser.until(f"document.querySelectorAll('{shown}').length > 0")
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        # One run stands below the other, and each round says of which it is.
        assert browser.run("const all = document.querySelector('.beside'); return all.scrollWidth <= all.clientWidth")
        said = "Array.from(document.querySelectorAll('.cell'), (node) => getComputedStyle(node, '::before').content)"
        assert browser.run(f"return {said}")[2:4] == [f'"{row["agent"]}, trial 1"' for row in rows]
    finally:
        browser.width(1280)


def test_a_broken_journal_says_so_and_the_others_stay(
    written: Path, tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    other = tmp_path / "torn"
    with Journal(other) as journal:
        write_run(journal)
    with (other / "journal.jsonl").open("ab") as file:
        file.write(b'{"v":1,"event":"round","run":"x"\n')
    browser.open(serve(written, other).server.address + "#/1/runs")
    browser.until("document.querySelectorAll('a.row').length === 1")
    assert "1 torn line" in browser.run("return document.getElementById('status').innerText")
    assert browser.run("return document.querySelectorAll('#journals option').length") == 2


def test_the_overview_has_each_agent_and_what_most_runs_missed(written: Path, serve: Serve, browser: Browser) -> None:
    browser.open(serve(written).server.address + "#/0/overview")
    browser.until("document.querySelectorAll('tbody tr').length === 3")
    assert "3 of 5" in texts(browser, "tbody tr")[1]
    assert texts(browser, ".misses td")[0].startswith("2 runs")
    browser.run("document.querySelectorAll('tbody a')[1].click()")
    browser.until("document.querySelectorAll('a.row').length === 5")


def test_runs_that_were_chosen_stand_side_by_side(written: Path, serve: Serve, browser: Browser) -> None:
    browser.complaints()
    browser.open(serve(written).server.address)
    browser.until("document.querySelectorAll('.line input').length === 10")
    for place in (0, 1):
        browser.run(f"document.querySelectorAll('.line input')[{place}].click()")
    browser.until("!document.querySelector('.filters a').hidden")
    browser.run("document.querySelector('.filters a').click()")
    browser.until("document.querySelectorAll('.beside .round').length === 6")
    tops = browser.run(
        "return Array.from(document.querySelectorAll('.beside .cell'), (node) => node.getBoundingClientRect().top)"
    )
    assert tops[2] == tops[3] > tops[0]
    assert browser.complaints() == []


def test_two_journals_show_what_flipped(written: Path, tmp_path: Path, serve: Serve, browser: Browser) -> None:
    later = tmp_path / "later"
    with Journal(later) as journal:
        for trial in range(1, 6):
            write_run(journal, "addition", "a.py:A", trial, hits=(trial > 1,), reason="it forgot")
            write_run(journal, "addition", "b.py:B", trial)
    browser.open(serve(written, later).server.address + "#/0/versus?other=1")
    browser.until("document.querySelectorAll('.versus-runs tbody tr:not(.flip)').length === 3")
    assert texts(browser, "output") == ["1 worse, 2 better, 7 the same"]
    assert texts(browser, ".versus-runs .flip")[0].split("\n")[0].startswith("worse")
    assert "it forgot" in texts(browser, ".versus-runs .flip")[0]
    browser.click("input[type=checkbox]")
    browser.until("document.querySelectorAll('.versus-runs tbody tr:not(.flip)').length === 10")


def test_labels_are_given_by_keys_and_blind_until_then(
    written: Path, tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    target = tmp_path / "labels.jsonl"
    reader = serve(written, labels=target)
    browser.open(reader.server.address + "#/0/label")
    browser.until("document.querySelectorAll('.round').length === 3")
    shown = browser.run("return document.body.innerText")
    assert "It is what the point asks for." not in shown
    assert "the sum is wrong" not in shown
    assert browser.run("return document.querySelectorAll('main mark, main .verdict, main .chip').length") == 0
    browser.press("m")
    browser.until("document.querySelector('.label-panel .chip')")
    (label,) = read_labels(target)
    assert (label.label, label.rater, label.chosen) == ("miss", "reader", RANDOM)
    browser.press("b")
    browser.until("document.querySelector('.label-panel').innerText.includes('taken back')")
    assert read_labels(target) == []
    browser.press("h")
    browser.until("document.querySelector('.label-panel .chip')")
    browser.press("n")
    browser.until("document.querySelector('.label-panel small').innerText.startsWith('14 of 15')")


def test_comments_stay_beside_the_journal(written: Path, serve: Serve, browser: Browser) -> None:
    before = (written / "journal.jsonl").read_bytes()
    reader = serve(written)
    run = reader.json("api/0/runs")["rows"][0]["id"]
    browser.open(f"{reader.server.address}#/0/run/{run}")
    browser.until("document.querySelector('.comments textarea')")
    browser.type(".comments textarea", "<b>look</b> here")
    browser.type(".comments input", "2")
    browser.click(".comments > .filters button")
    browser.until("document.querySelectorAll('.comments li').length === 1")
    assert "<b>look</b> here" in texts(browser, ".comments li")[0]
    browser.open(f"{reader.server.address}#/0/run/{run}")
    browser.until("document.querySelectorAll('.comments li').length === 1")
    assert (written / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("usage", "shown"),
    [
        (Usage(4_000, 1_000, 300, calls=3), ["3", "4,000", "300", "1,000", ""]),
        (
            Usage(4_000, 1_000, 300, calls=3, reported=False),
            ["3", "at least 4,000", "at least 300", "at least 1,000", ""],
        ),
        (Usage(0, 1_000, calls=3, reported=False), ["3", "unknown", "", "at least 1,000", ""]),
        (Usage(calls=3, reported=False), ["3", "unknown", "", "unknown", ""]),
    ],
    ids=["all", "in part", "output alone", "none"],
)
def test_tokens_of_which_some_were_not_reported_are_a_lower_bound(
    usage: Usage, shown: list[str], tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    with Journal(tmp_path / "j") as journal:
        run = write_run(journal, usage=usage)
    browser.open(serve(tmp_path / "j").server.address + f"#/0/run/{run}?part=timings")
    browser.until("document.querySelectorAll('.costs .figures').length === 2")
    assert texts(browser, ".costs > .scroll:last-of-type tbody tr:first-child td")[1:] == shown


def test_each_part_of_a_run_has_an_address_and_a_key(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    folder = tmp_path / "j"
    with Journal(folder) as journal:
        left = folder / workspace_name("run-1")
        left.mkdir(parents=True)
        (left / "notes.txt").write_text("<b>one</b>\n")
        setting = Setting(case="c", agent="a", workspace=workspace_name("run-1"))
        journal.append("setting", "run-1", 1, setting)
        picture = keep_image(folder, png())
        step = Step("s", tool="look", started=101.0, seconds=0.5)
        timed = Round(1, "q", "a", (step,), images=(picture,), started=100.5, examiner_seconds=0.5, agent_seconds=2.0)
        journal.append("round", "run-1", 1, timed)
        address = serve(folder).server.address
        browser.complaints()
        browser.open(address + "#/0/run/run-1")
        browser.until("document.querySelector('.pictures img')?.complete")
        browser.click(".pictures img")
        browser.until("document.querySelector('dialog.lightbox img')?.naturalWidth === 2")
        browser.press("Escape")
        browser.until("!document.querySelector('dialog.lightbox')")
        browser.press("2")
        browser.until("document.querySelectorAll('.fall-row').length === 2")
        assert browser.run("return location.hash").endswith("?part=timings")
        journal.append("round", "run-1", 1, Round(2, "q", "a"))
        browser.until("document.querySelectorAll('.fall-row').length === 3")
    browser.press("4")
    browser.until("document.querySelector('.files a')")
    browser.run("document.querySelector('.files a').click()")
    browser.until("document.querySelector('.diff')")
    assert texts(browser, ".diff .code") == ["<b>one</b>"]
    shared = browser.run("return location.href")
    browser.press("Escape")
    browser.until("document.querySelector('.files') === null && document.querySelector('.round')")
    browser.width(390)
    try:
        browser.open(shared)
        browser.until("document.querySelector('.diff')")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.width(1280)
    assert browser.complaints() == []


def test_views_over_journals_are_reached_by_keys(written: Path, tmp_path: Path, serve: Serve, browser: Browser) -> None:
    later = tmp_path / "later"
    with Journal(later) as journal:
        write_run(journal, "addition", "a.py:A", 1, hits=(False,), reason="<i>it forgot</i>", persona="terse")
        write_run(journal, "addition", "a.py:A", 2, hits=(False,))
    browser.complaints()
    browser.open(serve(written, later).server.address + "#/1/grid?by=agent,persona")
    browser.until("document.querySelectorAll('.grid thead th').length === 3")
    assert texts(browser, ".grid thead th")[1:] == ["a.py:A · none", "a.py:A · terse"]
    browser.click(".choice input")
    browser.until("location.hash === '#/1/grid?by=persona'")
    browser.press("t")
    browser.until("document.querySelectorAll('.trends tbody tr').length > 0")
    browser.run("document.querySelector('.trends a').click()")
    browser.until("document.querySelectorAll('.trend-runs .dot').length > 0")
    browser.press("s")
    browser.until("document.querySelector('input[name=words]')")
    browser.type("input[name=words]", "city you mean")
    browser.press("Enter")
    browser.until("document.querySelectorAll('.hit').length === 2")
    browser.run("document.querySelector('.hit').click()")
    browser.until("document.getElementById('round-3')")
    browser.press("?")
    browser.until("document.querySelectorAll('#help dt').length > 40")
    browser.press("Escape")
    browser.press("v")
    browser.until("document.querySelector('.flip, .versus-runs td')")
    assert browser.run("return document.querySelectorAll('main i').length") == 0
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("run/none", "there is no run 'none'"),
        ("run/%E0%A4%A", "there is no run '%E0%A4%A'"),
        ("beside?runs=%25E0", "there is no run '%E0'"),
        ("search?words=a&where=scroe", "did you mean score?"),
        ("grid?by=nonsense", "there are no columns by 'nonsense'"),
        ("versus?other=99", "there is no journal 99"),
    ],
)
def test_a_wrong_address_is_explained_and_the_words_stay(
    written: Path, serve: Serve, browser: Browser, address: str, words: str
) -> None:
    browser.complaints()
    reader = serve(written)
    browser.open(f"{reader.server.address}#/0/{address}")
    browser.until(f"document.getElementById('problem').textContent.includes({words!r})")
    with Journal(written) as journal:
        write_run(journal, "one more", "a")
    browser.until("document.getElementById('status').innerText.includes('9 passed')")
    browser.until(f"document.getElementById('problem').textContent.includes({words!r})")
    assert not browser.run("return document.getElementById('problem').hidden")
    assert not [each for each in browser.complaints() if "Uncaught" in each]


@pytest.mark.parametrize(
    "address", ["constructor", "__proto__", "none", "run/RUN?part=constructor", "run/RUN?round=1e400"]
)
def test_an_address_with_a_wrong_word_shows_what_is_next_to_it(
    written: Path, serve: Serve, browser: Browser, address: str
) -> None:
    browser.complaints()
    reader = serve(written)
    run = reader.json("api/0/runs")["rows"][0]["id"]
    browser.open(f"{reader.server.address}#/0/{address.replace('RUN', run)}")
    browser.until("document.querySelectorAll('a.row, .round').length > 2")
    assert browser.complaints() == []


def test_what_a_reader_types_and_where_the_focus_is_outlasts_new_rounds(
    tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append("setting", "run-1", 1, Setting(case="live", agent="a"))
        journal.append("round", "run-1", 1, Round(1, "first question", "first answer"))
        browser.open(serve(tmp_path / "j").server.address + "#/0/run/run-1")
        browser.until("document.querySelectorAll('.round').length === 1")
        browser.press("/")
        for number, character in enumerate("answer", 2):
            browser.press(character)
            journal.append("round", "run-1", 1, Round(number, "question", f"answer {number}"))
            browser.until(f"document.querySelector('form.talk output').textContent === '{number} rounds'")
        assert browser.run("return document.activeElement.value") == "answer"
        browser.press("Enter")
        browser.until("document.querySelectorAll('.hits button').length === 7")
        for place in (".tabs a:last-child", "#views a:nth-child(2)"):
            browser.run(f"document.querySelector({place!r}).focus()")
            number += 1
            journal.append("round", "run-1", 1, Round(number, "question", "answer"))
            browser.until(f"document.querySelector('form.talk output').textContent === '{number} rounds'")
            assert browser.run(f"return document.activeElement === document.querySelector({place!r})")


def test_cases_by_agents_follow_a_suite_that_never_rests(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        write_run(journal, "case 0")
        browser.open(serve(tmp_path / "j").server.address + "#/0/grid")
        browser.until("document.querySelectorAll('.grid .dot.passed').length > 0")
        end = time.monotonic() + 60  # a busy machine shows it late, but without a pause
        for number in count(1):
            write_run(journal, f"case {number}")
            if browser.run("return document.querySelectorAll('.grid tbody tr').length") > 1:
                break
            assert time.monotonic() < end, "the table waits for a pause of the suite"


def test_a_view_that_was_left_puts_nothing_on_the_screen(written: Path, serve: Serve, browser: Browser) -> None:
    reader = serve(written)
    run = reader.json("api/0/runs")["rows"][0]["id"]
    browser.open(reader.server.address + "#/0/overview")
    browser.until("document.querySelector('meter')")
    # The run is asked for, and left before the answer is there.
    browser.run(
        "const own = fetch; fetch = async (...given) => { const found = await own(...given);"
        " if (given[0].includes('/run?')) { await new Promise((go) => setTimeout(go, 300));"
        " window.came = 1; } return found; };"
        f" location.hash = '#/0/run/{run}'; setTimeout(() => {{ location.hash = '#/0/overview'; }}, 50)"
    )
    browser.until("window.came && document.querySelector('meter')")
    assert (
        browser.run(
            "return new Promise((go) => setTimeout(() => go(document.querySelectorAll('.comments').length), 100))"
        )
        == 0
    )
    assert browser.run("return document.title") == "Viva"


def test_a_long_name_does_not_widen_a_narrow_page(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        run = write_run(journal, "x" * 150, "a")
    reader = serve(tmp_path / "j")
    browser.width(390)
    browser.open(f"{reader.server.address}#/0/run/{run}")
    browser.until("document.querySelectorAll('.round').length === 3")
    width = browser.run("return document.documentElement.scrollWidth")
    browser.width(1280)
    assert width <= 390


def test_two_journals_are_compared_from_the_older_to_the_newer_one(
    written: Path, tmp_path: Path, serve: Serve, browser: Browser
) -> None:
    with Journal(tmp_path / "newer") as journal:
        write_run(journal, "addition", "b.py:B", 3, hits=(False, False))
    browser.open(serve(tmp_path / "newer", written).server.address)  # the newest first, as the command orders them
    browser.until("document.querySelectorAll('a.row').length === 1")
    browser.press("v")
    browser.until("document.querySelector('.versus-runs')")
    assert texts(browser, ".versus-runs thead th") == ["Case", "suite", "newer"]
    assert texts(browser, ".filters output")[0].startswith("1 worse")
    browser.press("j")
    assert browser.run("return document.activeElement.innerText") == "side by side"
