"""The page in a real browser: complete, quick to open, harmless whatever an agent said, and quiet on the network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.journals import resealed
from tests.viva.reports.browser import Browser
from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, keep_image, png, write_run, write_suite
from viva.journal.kept_files import name_for
from viva.journal.writer import FILE, Journal
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round, Step
from viva.records.verdict import Evidence
from viva.reports.journals import joined
from viva.reports.page import report as page
from viva.reports.page.conversations import Blocks
from viva.reports.page.images import PageImages

# What the page itself is made of; an element beyond these was injected.
KNOWN = {
    "A", "ASIDE", "B", "BDI", "BODY", "BR", "BUTTON", "CIRCLE", "CODE", "DD", "DETAILS", "DIV", "DL", "DT",
    "FIGCAPTION", "FIGURE", "FOOTER", "FORM", "H1", "H2", "H4", "HEAD", "HEADER", "HTML", "I", "IMG", "INPUT", "LABEL",
    "LI", "LINE", "LINK", "MAIN", "MARK", "META", "NAV", "NOSCRIPT", "OL", "OPTION", "OUTPUT", "P", "POLYLINE", "RECT",
    "SCRIPT", "SECTION", "SELECT", "SMALL", "SPAN", "STYLE", "SUMMARY", "SVG", "TABLE", "TBODY", "TD", "TEXT", "TH",
    "THEAD", "TITLE", "TR", "WBR",
}  # fmt: skip
INSPECT = """
const all = Array.from(document.querySelectorAll("*"));
return {
  tags: Array.from(new Set(all.map((node) => node.tagName.toUpperCase()))),
  scripts: all.filter((n) => n.tagName === "SCRIPT" && n.type !== "application/json").length,
  handlers: all.flatMap((n) => Array.from(n.attributes)).filter((a) => a.name.startsWith("on")).length,
  links: all.filter((n) => n.hasAttribute("href")).map((n) => n.getAttribute("href")),
  sources: all.filter((n) => n.hasAttribute("src")).map((n) => n.getAttribute("src").slice(0, 22)),
  text: document.body.innerText,
};
"""


def write_page(journal: Path, **limits: object) -> Path:
    target = journal / "report.html"
    with target.open("w", encoding="utf-8", newline="") as file:
        page.write(joined([str(journal)]), file, **limits)  # type: ignore[arg-type]
    return target


def check_harmless(browser: Browser) -> str:
    found = browser.run(INSPECT)
    assert set(found["tags"]) <= KNOWN
    assert found["scripts"] == 1
    assert found["handlers"] == 0
    assert all(re.fullmatch(r"#[a-z0-9-]*|data:,", link) for link in found["links"])
    assert all(source == "data:image/png;base64," for source in found["sources"])
    text: str = found["text"]
    return text


def test_nothing_that_is_said_becomes_markup_or_script_and_nothing_is_loaded(hostile: Path, browser: Browser) -> None:
    target = write_page(hostile)
    browser.complaints(), browser.requests()
    browser.go(target)
    check_harmless(browser)
    seen = []
    for number in range(len(HOSTILE) + 2):
        browser.follow(f"#run-{number}")
        seen.append(check_harmless(browser))
        assert browser.run("return document.querySelectorAll('#run .round').length") >= 1
    assert "<script>alert(1)</script>" in seen[0]
    assert "\\u202e" in "".join(seen)
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_line_of_five_megabytes_is_cut_and_its_length_told(hostile: Path, browser: Browser) -> None:
    target = write_page(hostile)
    assert target.stat().st_size < 2_000_000
    browser.go(target, f"#run-{len(HOSTILE)}")
    assert "more characters" in check_harmless(browser)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_a_page_of_a_thousand_runs_holds_every_row_and_stays_small(tmp_path: Path, browser: Browser) -> None:
    journal = write_suite(tmp_path / "journal", 125, agents=2, trials=4, rounds=10)
    target = write_page(journal)
    assert target.stat().st_size < 6_000_000
    browser.complaints()
    browser.go(target)
    assert browser.run("return document.querySelectorAll('#rows tr').length") == 1000
    assert browser.run("return document.querySelectorAll('#rows tr:not([hidden])').length") == page.ROWS_SHOWN
    browser.click("#more")
    assert browser.run("return document.querySelectorAll('#rows tr:not([hidden])').length") == 2 * page.ROWS_SHOWN
    assert browser.complaints() == []


def test_conversations_beyond_the_limit_are_left_out_and_counted_while_all_rows_stay(
    tmp_path: Path, browser: Browser
) -> None:
    journal = write_suite(tmp_path / "journal", 50, rounds=10)
    blocks = Blocks(limit=40_000)
    target = write_page(journal, blocks=blocks)
    assert target.stat().st_size < 200_000
    assert 0 < blocks.left_out < 50
    browser.go(target)
    assert browser.run("return document.querySelectorAll('#rows tr').length") == 50
    assert f"{blocks.left_out} conversations left out" in browser.run("return document.body.innerText")
    without = browser.run("return Array.from({length: 50}, (_, n) => n).find((n) => !document.getElementById('c' + n))")
    browser.go(target, f"#run-{without}")
    assert "left out to limit the size of the page" in browser.run("return document.getElementById('run').innerText")


def test_rows_are_filtered_by_outcome_agent_case_and_words_said(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "task 1", "a.py:A", said=["the capital is Paris"])
        write_run(journal, "task 1", "a.py:B", said=["I do not know"], hits=(False,))
        write_run(journal, "task 10", "a.py:A", said=["so much"], outcome=Outcome.JUDGE_ERROR)
    browser.go(write_page(tmp_path))

    def shown(field: str, value: str, event: str) -> int:
        script = (
            f"const f = document.getElementById('{field}'); f.value = {json.dumps(value)};"
            f"f.dispatchEvent(new Event('{event}'));"
        )
        browser.run(script)
        number: int = browser.run(
            "return new Promise((done) => setTimeout("
            "() => done(document.querySelectorAll('#rows tr:not([hidden])').length), 300))"
        )
        browser.run(
            f"const f = document.getElementById('{field}'); f.value = ''; f.dispatchEvent(new Event('{event}'))"
        )
        return number

    assert shown("by-outcome", "s:failed", "change") == 1
    assert shown("by-outcome", "o:judge_error", "change") == 1
    assert shown("by-agent", "0", "change") == 2
    assert shown("by-case", "task 1", "input") == 2, "a whole name means that case and no longer one"
    assert shown("by-case", "task", "input") == 3
    assert shown("by-text", "capital is paris", "input") == 1
    assert shown("by-text", "no such words", "input") == 0


def test_quotes_are_marked_where_they_stand_and_verdicts_stand_beside_them(tmp_path: Path, browser: Browser) -> None:
    step = Step("s7", tool="search", tool_input={"q": "rain"}, result="It rains in Rome.")
    with Journal(tmp_path) as journal:
        write_run(journal, said=["First.", "The answer   is\nforty-two, he said."], quote="the answer", steps=(step,))
        write_run(journal, trial=2, said=["First.", "The answer   is\nforty-two."], quote="The answer is forty-two")
    target = write_page(tmp_path)
    browser.go(target)
    browser.click("#rows tr:nth-child(2) a")
    browser.until("document.querySelector('#round-2 mark') !== null")
    assert browser.run("return document.querySelector('#round-2 mark').textContent") == "The answer   is\nforty-two"
    assert browser.run("return document.querySelector('#round-2 .margin').innerText").startswith("hit")
    assert browser.run("return document.querySelectorAll('#round-1 mark, #round-1 .margin > div').length") == 0
    browser.click("button.quote")
    assert browser.run("return document.querySelector('#round-2 mark').classList.contains('lit')")
    browser.run("history.back()")
    browser.until("document.getElementById('run').hidden")


def test_a_step_that_is_quoted_is_open_and_its_image_is_shown(tmp_path: Path, browser: Browser) -> None:
    shot = keep_image(tmp_path, png())
    quoted = Step("s7", tool="search", result="It rains in Rome.", images=(shot,))
    other = Step("s8", tool="think", result="Nothing.")
    with Journal(tmp_path) as journal:
        write_run(journal, steps=(quoted, other), evidence=(Evidence("s7", "rains in Rome"),))
    browser.go(write_page(tmp_path), "#run-0")
    assert browser.run("return Array.from(document.querySelectorAll('details.step'), (d) => d.open)") == [True, False]
    assert browser.run("return document.querySelector('details.step mark').textContent") == "rains in Rome"
    browser.until("document.querySelector('details.step img').naturalWidth === 2")


def test_runs_that_never_ended_and_attempts_that_broke_off_say_so(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        run = write_run(journal, "tried again")
        journal.append("setting", run, 2, Setting(case="tried again", agent="agents.py:One"))
        journal.append("round", run, 2, Round(1, "Once more?", "Once more."))
        write_run(journal, "broke off", said=["so far"], ended=False)
    target = write_page(tmp_path)
    browser.go(target, "#run-0")
    first = browser.run("return document.getElementById('run').innerText")
    assert "Once more." in first
    assert "The score is of attempt 1; attempt 2, which is shown here, did not end." in first
    browser.go(target, "#run-1")
    second = browser.run("return document.getElementById('run').innerText")
    assert "unfinished" in second
    assert "so far" in second
    assert "the conversation did not end" in second


def test_a_page_of_one_run_opens_with_it(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "only one")
    browser.go(write_page(tmp_path))
    assert browser.run("return document.querySelector('#run h1').textContent") == "only one"
    browser.click("#run nav a")
    browser.until("document.getElementById('run').hidden && !document.getElementById('overview').hidden")


def test_both_colour_schemes_give_text_that_can_be_read(tmp_path: Path, browser: Browser) -> None:
    browser.go(write_page(write_suite(tmp_path / "journal", 3, agents=2, trials=2)))
    lightness = "return getComputedStyle(document.body).{}.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        ink, paper = browser.run(lightness.format("color")), browser.run(lightness.format("backgroundColor"))
        assert (paper > 600 and ink < 150) if scheme == "light" else (paper < 150 and ink > 600)


# WCAG 2.2, 1.4.3 and 1.4.11: https://www.w3.org/TR/WCAG22/#contrast-minimum
PALE = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const found = canvas.getImageData(0, 0, 1, 1).data;
  return [found[0], found[1], found[2], found[3] / 255];
};
const light = (colour) => {
  const [r, g, b] = colour.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (node) => {
  const layers = [];
  for (; node; node = node.parentElement) layers.unshift(rgba(getComputedStyle(node).backgroundColor));
  return layers.reduce((base, [r, g, b, a]) => [r, g, b].map((v, i) => v * a + base[i] * (1 - a)), [255, 255, 255]);
};
const contrast = (one, other) => {
  const [a, b] = [light(one.slice(0, 3)), light(other.slice(0, 3))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
const pale = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  const svg = node.ownerSVGElement;
  if (!walker.currentNode.textContent.trim() || node.closest("script, option") || !(svg || node.offsetParent)) continue;
  texts += 1;
  const style = getComputedStyle(node);
  if (contrast(rgba(svg ? style.fill : style.color), behind(svg ? svg.parentElement : node)) < 4.5) {
    pale.push(node.tagName + " " + walker.currentNode.textContent.trim().slice(0, 40));
  }
}
for (const node of document.querySelectorAll("input, select, button:not(.quote)")) {
  if (node.offsetParent && contrast(rgba(getComputedStyle(node).borderTopColor), behind(node.parentElement)) < 3) {
    pale.push("edge of " + node.tagName);
  }
}
return [texts, Array.from(new Set(pale))];
"""


def test_every_text_and_every_controls_edge_stands_out_in_both_colour_schemes(tmp_path: Path, browser: Browser) -> None:
    journal = write_suite(tmp_path / "journal", 60, agents=2, trials=4)
    target = write_page(journal)
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        for fragment in ("", "#run-3"):
            browser.go(target, fragment)
            texts, pale = browser.run(PALE)
            assert texts > 30
            assert pale == [], (scheme, fragment)


def test_printed_it_is_dark_on_light_whatever_the_reader_prefers(tmp_path: Path, browser: Browser) -> None:
    browser.go(write_page(write_suite(tmp_path / "journal", 3, agents=2)))
    browser.scheme("dark", media="print")
    try:
        ink = browser.run("return getComputedStyle(document.body).color.match(/[0-9.]+/g).slice(0, 3).map(Number)")
        assert sum(ink) < 150
        assert browser.run("return getComputedStyle(document.querySelector('.filters label')).display") == "none"
        assert browser.run("return document.getElementById('count').offsetParent !== null")
    finally:
        browser.scheme("light")


def test_whoever_goes_by_the_keyboard_comes_back_to_the_run_that_was_open(tmp_path: Path, browser: Browser) -> None:
    browser.go(write_page(write_suite(tmp_path / "journal", 3, agents=2)))
    title = browser.run("return document.title")
    chosen = browser.run("return document.querySelector('#rows tr:nth-child(2) a').getAttribute('href')")
    browser.run("document.querySelector('#rows tr:nth-child(2) a').focus()")
    browser.type("#rows tr:nth-child(2) a", "\ue007")  # Enter
    browser.until("document.activeElement.tagName === 'H1'")
    assert browser.run("return document.title").endswith(title)
    assert browser.run("return document.title") != title
    browser.type("#run h1", "\ue00c")  # Escape
    browser.until("document.activeElement.getAttribute('href') === " + repr(chosen))
    assert browser.run("return document.title") == title
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.run(outline) == "solid"


def test_a_sandbox_that_does_not_isolate_and_every_agents_spec_are_named(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "one", "folder/agents.py:Agent", isolates=False)
        write_run(journal, "one", "other/agents.py:Agent", isolates=False)
    browser.go(write_page(tmp_path))
    text = browser.run("return document.body.innerText")
    assert "docker (does NOT isolate)" in browser.run("return document.querySelector('.top').innerText")
    assert "Agent is folder/agents.py:Agent; Agent 2 is other/agents.py:Agent." in text


def test_several_agents_have_no_score_together_and_few_cases_no_interval(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for agent in ("x:Good", "x:Bad"):
            for case in range(6):
                write_run(
                    journal, f"c{case}", agent=agent, hits=(agent == "x:Good",), tags=("rare",) if case < 2 else ()
                )
    browser.go(write_page(tmp_path))
    assert browser.run("return document.querySelector('h1').innerText").split() == ["Good", "is", "ahead"]
    assert "0.50" not in browser.run("return document.querySelector('.lead').innerText")
    tables = browser.run(
        "return Array.from(document.querySelectorAll('table.groups'), (t) => Array.from(t.tBodies[0].rows, (r) =>"
        " [r.cells[0].innerText.trim(), r.cells[2].innerText, r.cells[3].innerText.trim()]))"
    )
    agents, tags = tables
    assert agents == [["Good", "1.00", ""], ["Bad", "0.00", ""]]
    assert tags == [["rare Bad", "0.00", "too few cases"], ["rare Good", "1.00", "too few cases"]]


def test_the_page_fits_a_phone(tmp_path: Path, browser: Browser) -> None:
    target = write_page(write_suite(tmp_path / "journal", 6, agents=3, trials=4))
    browser.width(390)
    try:
        for fragment in ("", "#run-1"):
            browser.go(target, fragment)
            # A phone zooms out until everything fits: the width of the window is no measure.
            assert browser.run("return document.documentElement.scrollWidth") == 390
    finally:
        browser.width(1280)


def test_every_control_has_a_name_and_every_table_its_headings(tmp_path: Path, browser: Browser) -> None:
    browser.go(write_page(write_suite(tmp_path / "journal", 3, agents=2, trials=2)))
    nameless = """
    const plain = Array.from(document.querySelectorAll("input, select, button, a, svg[role=img], [role=region]"));
    return plain.filter((n) => !(n.ariaLabel || n.textContent.trim() || (n.labels && n.labels.length))).length;
    """
    assert browser.run(nameless) == 0
    assert browser.run("return document.querySelectorAll('table:not(:has(thead th[scope=col]))').length") == 0
    assert browser.run("return document.querySelectorAll('h1').length") == 1


def test_costs_that_are_no_numbers_are_in_no_plot(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for case in "abc":
            write_run(journal, case)
    file = tmp_path / FILE
    file.write_bytes(resealed(file.read_bytes().replace(b'"cost":0.01', b'"cost":1e999', 1)))
    text = report("html", tmp_path)
    plot = text.partition('<svg class="plot"')[2].partition("</svg>")[0]
    # Unknown, like one that nobody reported: tokens take the place of money.
    assert "tokens per run" in plot
    assert "nan" not in plot
    assert "inf" not in plot


def test_the_policy_names_the_only_script_and_forbids_all_else(tmp_path: Path) -> None:
    text = report("html", write_suite(tmp_path / "journal", 2))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "unsafe-inline" not in policy[1].partition("script-src")[2]
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)


@pytest.mark.parametrize(
    "name",
    ["../secret.png", "/etc/hostname", "images/../../secret.png", "http://example.org/i.png", "workspaces/own.png"],
)
def test_no_image_from_outside_the_journal_is_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    for folder in ("images", "workspaces"):
        (tmp_path / "journal" / folder).mkdir(parents=True)
    # Nor what an agent left in its workspace: it was not shown to anybody.
    (tmp_path / "journal" / "workspaces" / "own.png").write_bytes(png())
    assert PageImages().uri(tmp_path / "journal", name) is None


def test_an_image_is_known_by_its_bytes_and_kept_within_the_limit(tmp_path: Path) -> None:
    page = keep_image(tmp_path, b"<svg onload=alert(1)>")
    real = keep_image(tmp_path, png(), "gif")
    link = name_for("images", b"elsewhere", "png")
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / link).symlink_to(tmp_path / "secret.png")
    images = PageImages(limit=len(png()))
    assert images.uri(tmp_path, page) is None
    assert images.uri(tmp_path, link) is None
    assert images.uri(tmp_path, "data:image/svg+xml;base64,PHN2Zz4=") is None
    assert (images.uri(tmp_path, real) or "").startswith("data:image/png;base64,")
    assert images.uri(tmp_path, real) is None
    assert images.left_out == 1
