"""An exported page shows in a real browser what the live one shows, opened as a file and from a plain server."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import HOSTILE, keep_image, png, write_run
from tests.viva.viewer.conftest import Reader, browser, serve
from tests.viva.viewer.export.test_folder import exported
from viva.exam.kept_workspaces import workspace_name
from viva.filters.expression import FilterError
from viva.filters.fields import FilterContext
from viva.filters.matching import matcher
from viva.filters.parsing import parse_filter
from viva.filters.stored_cases import StoredCases
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round, Step, StepKind
from viva.viewer.comments import Comment, add_comment
from viva.viewer.export.values import field_table, values_of

__all__ = ["browser", "serve"]

Serve = Callable[..., Reader]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@pytest.fixture
def static() -> Iterator[Callable[[Path], str]]:
    """Serve folders as any server of files does."""
    servers = []

    def start(folder: Path) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}/index.html"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def written(tmp_path: Path) -> list[Path]:
    """Two journals: eleven runs of two agents, some with misses, pictures and files; and a later one with flips."""
    folder = tmp_path / "suite"
    with Journal(folder) as journal:
        picture = keep_image(folder, png())
        for trial in range(1, 6):
            write_run(journal, "addition", "a.py:A", trial, tags=("smoke",), images=(picture,))
            write_run(journal, "addition", "b.py:B", trial, hits=(True, trial > 2), reason="the sum is wrong")
        run = write_run(journal, "long", "b.py:B", said=[f"answer {number}" for number in range(1, 131)])
        journal.append("setting", "run-1", 1, Setting(case="files", agent="a.py:A", workspace=workspace_name("run-1")))
        journal.append("round", "run-1", 1, Round(1, "q", "a"))
    left = folder / workspace_name("run-1")
    left.mkdir(parents=True)
    (left / "page.html").write_text("<script>alert(1)</script>")
    add_comment(folder, Comment(run, "<b>look</b>", 120, "ada"))
    with Journal(tmp_path / "later") as journal:
        write_run(journal, "addition", "a.py:A", hits=(False,), reason="it forgot")
    return [folder, tmp_path / "later"]


def shown(browser: Browser, address: str, views: Sequence[str]) -> list[str]:
    """The words of each view, once they no longer change."""
    browser.open(f"{address}#/{views[0]}")
    words = []
    for view in views:
        # Another view between: what is on the screen afterwards is new.
        browser.follow("#/0/overview")
        browser.follow(f"#/{view}")
        words.append(shown_now(browser))
    return words


def shown_now(browser: Browser) -> str:
    """The words of the view that is open."""
    browser.until("document.querySelector('main :is(a.row, .dot, .round, .versus-runs, meter)')")
    before, words = "", " "
    while before != words:
        before = words
        words = browser.run(
            "await new Promise((done) => setTimeout(done, 60));return document.querySelector('main').innerText"
        )
    return re.split(r"\nComments\n", words)[0]


def test_every_view_is_the_live_one_from_a_file_and_from_a_server(
    written: list[Path], tmp_path: Path, serve: Serve, static: Callable[[Path], str], browser: Browser
) -> None:
    live = serve(*written)
    exported(tmp_path / "out", *written)
    rows = live.json("api/0/runs")["rows"]
    failed, long = (next(row["id"] for row in rows if row["case"] == name) for name in ("addition", "long"))
    views = [
        "0/overview", "0/runs", "0/runs?where=score%3C1&order=-score", "0/runs?where=missed~right", "0/runs?order=case",
        "0/runs?where=status%3Dunfinished", "1/runs", "0/grid", "0/grid?where=trial%3C3",
        "0/grid?by=agent,journal&with=1", "0/grid?by=judge,agent",
        f"0/run/{failed}",
        f"0/run/{failed}?part=timings", "0/run/run-1?part=files&file=page.html",
        f"0/run/{long}?round=77", f"0/beside?runs={failed},{long}", "0/versus?other=1", "0/versus?other=1&all=1",
        "1/versus?other=0", "0/search?words=ANSWER%207", "0/search?words=COLUMN&all=1",
        "1/search?words=COLUMN&where=not%20passed",
        "0/history", "1/history?case=addition&agent=a.py%3AA",
    ]  # fmt: skip
    browser.complaints(), browser.requests()
    places = [(tmp_path / "out" / "index.html").as_uri(), static(tmp_path / "out")]
    expected = dict(zip(views, shown(browser, live.server.address, views), strict=True))
    assert len(set(expected.values())) > len(views) - 3
    for place, one_in_two in zip(places, (views[0::2], views[1::2]), strict=True):
        # What differs between a file and a server is how parts are loaded, which every view does alike.
        seen = [*views[:2], *one_in_two]
        assert dict(zip(seen, shown(browser, place, seen), strict=True)) == {view: expected[view] for view in seen}
    assert browser.complaints() == []


def test_nothing_live_is_pretended(written: list[Path], tmp_path: Path, serve: Serve, browser: Browser) -> None:
    exported(tmp_path / "out", *written)
    long = next(row["id"] for row in serve(*written).json("api/0/runs")["rows"] if row["case"] == "long")
    browser.open((tmp_path / "out" / "index.html").as_uri() + f"#/0/run/{long}")
    browser.until("document.querySelectorAll('.comments li').length === 1")
    words = browser.run("return document.body.innerText")
    assert re.search(r"exported \d{4}-\d\d-\d\d \d\d:\d\d UTC; read-only", words)
    assert "An export is read-only" in words
    tabs = browser.run("return document.getElementById('views').innerText")
    assert "Runs" in tabs
    assert "Label" not in tabs
    assert "<b>look</b>" in words
    assert browser.run("return document.querySelectorAll('textarea, .comments .filters').length") == 0
    browser.run("document.querySelector('.comments li button').click()")
    browser.until("document.getElementById('round-120')?.getBoundingClientRect().top < innerHeight")
    browser.type("form.talk input[type=search]", "ANSWER 99\n")
    browser.until("document.querySelector('.hits button')?.textContent === '99'")


def test_words_are_found_in_all_parts_of_many_conversations(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        for trial in range(1, 121):
            run = write_run(
                journal, "many", "a.py:A", trial, said=[f"Straße {trial} <b>\t  of {'x' * 90}" for _ in range(8)]
            )
        step = Step("s", StepKind.TOOL, tool="search", tool_input={"query": "Needle in"}, result="nothing")
        journal.append("round", run, 1, Round(9, "Q?", "A.", (step,), error="NEEDLE broke"))
    exported(tmp_path / "out", tmp_path / "j")
    for words, where, expected in (
        ("STRASSE 7", "", 11),
        ("needle", "", 1),
        ("b>", "trial>100", 20),
        ("absent", "", 0),
    ):
        address = f"#/0/search?words={quote(words)}&where={quote(where)}"
        seen = []
        for place in ((tmp_path / "out" / "index.html").as_uri(), serve(tmp_path / "j").server.address):
            browser.open(place + address)
            browser.until("/^[\\d,]+ runs?$/.test(document.querySelector('main output')?.textContent)")
            seen.append(browser.run("return document.querySelector('main').innerText"))
            assert browser.run("return document.querySelectorAll('section.found').length") == expected
        assert seen[0] == seen[1]


def test_what_an_export_cannot_answer_is_told(written: list[Path], tmp_path: Path, browser: Browser) -> None:
    exported(tmp_path / "out", *written)
    for view, words in (
        ("grid?by=nothing", "there are no columns by 'nothing'; there are agent, version"),
        ("history?with=1", "This is not in the export"),
        ("search?words=x&where=scroe", "scroe"),
    ):
        browser.open((tmp_path / "out" / "index.html").as_uri() + f"#/0/{view}")
        browser.until(f"document.getElementById('problem').textContent.includes({json.dumps(words)})")
    browser.complaints()


def test_files_of_the_agent_are_saved_as_bytes_that_nothing_runs(
    written: list[Path], tmp_path: Path, browser: Browser
) -> None:
    exported(tmp_path / "out", *written)
    browser.open((tmp_path / "out" / "index.html").as_uri() + "#/0/run/run-1?part=files")
    browser.until("document.querySelector('.files button')")
    browser.run(
        "window.made = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => {"
        "blob.text().then((text) => made.push([blob.type, text])); return make(blob); };"
        "HTMLAnchorElement.prototype.click = function () { made.push(this.download); };"
        "document.querySelector('.files button').click()"
    )
    browser.until("made.length === 2")
    found = browser.run("return made")
    assert sorted(found, key=str) == sorted(
        ["page.html", ["application/octet-stream", "<script>alert(1)</script>"]], key=str
    )


def test_hostile_words_stay_words(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path / "j") as journal:
        for words in HOSTILE:
            write_run(journal, words, words, said=(words,), reason=words, statement=words, images=(words,))
        write_run(journal, "x", outcome=Outcome.TARGET_ERROR, hits=(False,), error=HOSTILE[2])
    exported(tmp_path / "out", tmp_path / "j")
    page = (tmp_path / "out" / "index.html").as_uri()
    browser.complaints(), browser.requests()
    browser.open(page + "#/0/grid")
    browser.until("document.querySelectorAll('.grid .dot').length > 20")
    links = browser.run(
        "return Array.from(document.querySelectorAll('.grid .dot'), (each) => each.getAttribute('href'))"
    )
    for link in ["#/0/overview", "#/0/runs", *links]:
        browser.run(f"location.hash = {json.dumps(link)}")
        browser.until("document.querySelector('main').innerText.length > 12")
    assert (
        browser.run("return document.querySelectorAll('main script, main iframe, main object, main b > b').length") == 0
    )
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_script_that_is_not_of_the_export_does_not_run(written: list[Path], tmp_path: Path, browser: Browser) -> None:
    exported(tmp_path / "out", *written)
    (tmp_path / "out" / "data" / "evil.js").write_text("window.evil = 1;")
    browser.open((tmp_path / "out" / "index.html").as_uri())
    browser.until("document.querySelectorAll('a.row').length > 0")
    browser.run(
        "for (const [tag, name, value] of [['script', 'src', 'data/evil.js'], ['img', 'onerror', 'window.evil = 2']]) {"
        "const node = document.createElement(tag); node.setAttribute(name, value);"
        "node.setAttribute('src', 'data/evil.js'); document.body.append(node); }"
        "const inner = document.createElement('script'); inner.textContent = 'window.evil = 3';"
        "document.body.append(inner);"
    )
    complaints: list[str] = []
    while len(complaints) < 3:
        complaints += [each for each in browser.complaints() if "Content Security Policy" in each]
    assert browser.run("return window.evil === undefined")


def test_a_part_that_is_missing_is_named(written: list[Path], tmp_path: Path, browser: Browser) -> None:
    exported(tmp_path / "out", *written)
    (tmp_path / "out" / "data" / "talk0-0.js").unlink()
    browser.open((tmp_path / "out" / "index.html").as_uri() + "#/0/run/run-1")
    browser.until("document.getElementById('problem').textContent.includes('data/talk0-0.js is missing')")
    browser.complaints()


EXPRESSIONS = (
    "score<1", "score >= 0.5 and not tag=smoke", "agent~A.PY", "(trial=1 or trial=2) and passed", "not passed",
    "passed=no", "status=failed", "outcome=target_error or outcome=unfinished", "missed~right", "hit=p0",
    "point.p1=miss", 'point."The agent answers rightly."=hit', "evaluator.scoring_points<1", "reason~'SUM is'",
    "label.scoring_points!=none", "error=none", "cost>$0.005", "seconds<1m30s", "seconds>=2", "tokens>1_0",
    "started>2020-01-01", "started<2001-02-03T04:05", "rounds=130", "suite=none", "persona!=none", "metadata.x=1",
    "version=none", "case~ß", "case~STRASSE", "run~run-1", "stop=finished and attempt=1", "low<=1", "points>1",
)  # fmt: skip
MISTAKES = (
    "", "scroe<1", "score", "score<", "score<x", "score~1", "(score<1", "score<1)", "score<1 agent=x", "tag=a & tag=b",
    "metadata=x", "agent.x=1", "status=fail", "seconds<x", "started>x", "agent='x", "agent=a'b'", "passed=maybe",
    "score<none", "score==1", "and", "not", "score:1", "((((" * 20,
)  # fmt: skip


def test_filters_keep_what_the_command_line_keeps(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for trial in range(1, 4):
            write_run(
                journal, "Straße", "a.py:A", trial, hits=(True, trial > 1), tags=("smoke",), reason="the sum is off"
            )
        write_run(journal, "b", "b.py:B", said=["x"] * 130, cost=None, seconds=200.0, persona="terse")
        write_run(journal, "c", "b.py:B", outcome=Outcome.TARGET_ERROR, hits=(False,), error="it died")
    records = list(read_records(tmp_path))
    context = FilterContext(1.0, StoredCases(tmp_path))
    values = [values_of(each, context, verdicts=False) | values_of(each, context, verdicts=True) for each in records]
    expected: list[Any] = []
    for text in EXPRESSIONS:
        matches = matcher(parse_filter(text), context)
        expected.append([matches(each) for each in records])
    for text in MISTAKES:
        with pytest.raises(FilterError) as error:
            parse_filter(text, "the filter")
        expected.append(str(error.value).partition(":")[0])
    source = (files("viva.viewer.export") / "pages" / "filters.js").read_text().replace("export const", "const")
    browser.open("about:blank")
    found = browser.run(
        f"{source}; const fields = {json.dumps(field_table())}, rows = {json.dumps(values)};"
        "const plain = (each) => typeof each !== 'object' || Array.isArray(each);"
        "const value = (each) => each === undefined ? null : plain(each) ? each : new Map(Object.entries(each));"
        f"return {json.dumps([*EXPRESSIONS, *MISTAKES])}.map((text) => {{ try {{"
        "const { matches } = filterOf(text, fields, Error);"
        "return rows.map((row) => matches((field) => value(row[field.name])));"
        "} catch (error) { return error.message.split(':')[0]; } });"
    )
    for text, one, two in zip([*EXPRESSIONS, *MISTAKES], found, expected, strict=True):
        assert one == two, text
