"""A journal of any content opens, and every view of it answers in JSON that a browser reads."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, changed, damaged, fuzzing
from tests.journals import resealed
from tests.viva.reports.browser import Browser
from tests.viva.reports.made import keep_image, png, write_run
from tests.viva.viewer.conftest import Reader
from tests.viva.viewer.export.test_folder import exported
from viva.cases import load_case
from viva.errors import SetupError
from viva.exam.judging.exchanges import kept_exchanges
from viva.exam.kept_workspaces import workspace_name
from viva.journal.errors import JournalError
from viva.journal.kept_cases import keep_case
from viva.journal.lines import FILE
from viva.journal.reader import read_runs
from viva.journal.writer import Journal
from viva.judge.exchange.log import ExchangeLog
from viva.records.exchange.exchanges import Exchange, PictureName, RequestMessage
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round, Step, StepKind
from viva.viewer.answers import NotFound
from viva.viewer.comments import Comment, add_comment
from viva.viewer.label_desk import LabelDesk
from viva.viewer.routes import Routes
from viva.viewer.watched import WatchedJournal
from viva.viewer.wire import to_json, to_script

FILTERS = ("score<1 or tag=smoke", "missed~right or label.scoring_points=hit", "metadata.x=1", "started>2020-01-01")
VIEWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("overview", {}),
    *(("runs", {"order": order}) for order in ("", "case", "-score", "rounds", "seconds", "-cost", "tokens")),
    *(("runs", {"where": where}) for where in FILTERS),
    *(("grid", {"by": by, "with": "1"}) for by in ("agent", "version,persona", "strategy,examiner,judge,journal")),
    ("grid", {"where": "score<1"}),
    ("history", {}),
    ("trend", {"case": "one", "agent": "agents.py:One"}),
    ("search", {"words": "a"}),
    ("search", {"words": "\ud800ß", "where": "score<1"}),
    ("versus", {"other": "1", "all": "1"}),
    ("versus", {"other": "0"}),
    ("label", {}),
    ("fields", {}),
)
OF_RUNS: tuple[tuple[str, dict[str, str]], ...] = (
    ("run", {}), ("run", {"first": "1", "most": "1"}), ("position", {"number": "2"}),
    ("find", {"words": "a"}), ("comments", {}), ("asked", {}), ("timings", {}), ("timings", {"first": "1"}),
    ("files", {}), ("file", {"path": "table.csv"}),
)  # fmt: skip
"""What is asked about each run."""
BESIDE = ("request.json", "comments.jsonl", "labels.jsonl", "cases/*", "texts/*", "files/*")
"""Files of a journal's folder that are read besides the journal."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with runs of all kinds, and all that can be beside it."""
    folder, source = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("case")
    (source / "table.csv").write_text("a,1\nb,2\n")
    (source / "case.yaml").write_text(
        "task_description: t\ndata_files: [table.csv]\nscript: [Hello]\nscoring_points: [It answers.]\n"
    )
    case = load_case(source / "case.yaml")
    with Journal(folder) as journal:
        keep_case(case, journal)
        picture = keep_image(folder, png())
        step = Step("s1", StepKind.TOOL, tool="search", tool_input={"q": 1}, result="found", images=(picture,))
        write_run(journal, "one", steps=(step,), images=(picture,), tags=("smoke",), quote="saved the file")
        run = write_run(journal, "two", "b", hits=(True, False), reason="wrong", persona="terse")
        _ask_judge(journal, run)
        write_run(journal, "three", outcome=Outcome.TARGET_ERROR, hits=(False,), error="it died", said=("y" * 9000,))
        setting = Setting(case="c", agent="a", case_hash=case.hash, workspace=workspace_name("run-1"))
        journal.append("setting", "run-1", 1, setting)
        timed = Round(1, "q", "a", (replace(step, started=101.0),), started=100.5, agent_seconds=2.0)
        journal.append("round", "run-1", 1, timed)
    left = folder / workspace_name("run-1")
    left.mkdir(parents=True)
    (left / "table.csv").write_text("a,1\nb,22\n")
    add_comment(folder, Comment(run, "look", 1, "ada"))
    watched = WatchedJournal(folder)
    watched.follow()
    desk = LabelDesk(watched, "ada", folder / "labels.jsonl")
    desk.give(run, "p0", "hit", 1.0, "a note")
    return folder


def _ask_judge(journal: Journal, run: str) -> None:
    (stored,) = (each for each in read_runs(journal.folder) if each.id == run)
    log = ExchangeLog()
    for point, said in (("p1", "no"), ("p0", "yes"), ("of no verdict", "")):
        messages = (RequestMessage("system", ("rules",)), RequestMessage("user", (point, PictureName("x.png"))))
        log.exchanges.append(
            Exchange("scoring_points", run, point, "m", messages, answer=said, error="" if said else "?")
        )
    for kind, event in kept_exchanges(log, stored.transcript, journal):
        journal.append(kind, run, 1, event)


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, in which files may be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "copied"))


@pytest.fixture(scope="module")
def lines(whole: Path) -> list[bytes]:
    """Its lines."""
    return (whole / FILE).read_bytes().splitlines()


def check_every_view(folder: Path) -> None:
    """Ask every question; what is wrong with a journal is said in words."""
    journals = [WatchedJournal(folder), WatchedJournal(folder)]
    for journal in journals:
        try:
            journal.follow()
        except JournalError:
            return
    routes = Routes(journals, "ada", [LabelDesk(each, "ada", folder / "labels.jsonl") for each in journals])

    def ask(name: str, query: dict[str, str]) -> Any:
        try:
            return _read(to_json(routes.answer(0, name, query)))
        except (SetupError, JournalError, NotFound):
            return None

    _read(to_json(routes.states()))
    _read(to_script(routes.start()))
    for name, query in VIEWS:
        ask(name, query)
    shown = ask("runs", {})
    assert shown["total"] == len(journals[0].runs)
    for row in shown["rows"]:
        for name, query in OF_RUNS:
            ask(name, {"id": row["id"], **query})


def _read(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"no browser reads {name}")

    return json.loads(text.encode(), parse_constant=refuse)


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(8, each=400, batches=6))
def test_any_bytes_in_any_line_leave_every_view_in_order(
    lines: list[bytes], copied: Path, examples: int, batch: int
) -> None:
    content = b"\n".join(lines) + b"\n"

    @seed(batch)
    @fuzzing(examples)
    @given(mutations.shuffled)
    def each(changes: list[Any]) -> None:
        (copied / FILE).write_bytes(damaged(content, changes, other=content))
        check_every_view(copied)

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(12, each=400, batches=6))
def test_any_value_in_any_field_leaves_every_view_in_order(
    lines: list[bytes], copied: Path, examples: int, batch: int
) -> None:
    @seed(batch)
    @fuzzing(examples)
    @given(st.integers(0, len(lines) - 1), mutations.forged, st.booleans())
    def each(number: int, changes: list[Any], sealed: bool) -> None:
        line = as_json(changed(json.loads(lines[number]), changes, str(copied.parent / "outside")))
        new = resealed(line).rstrip(b"\n") if sealed else line
        (copied / FILE).write_bytes(b"\n".join([*lines[:number], new, *lines[number + 1 :]]) + b"\n")
        check_every_view(copied)

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(6, each=400, batches=3))
def test_any_bytes_beside_a_journal_leave_every_view_in_order(copied: Path, examples: int, batch: int) -> None:
    files = sorted(file for pattern in BESIDE for file in copied.glob(pattern) if file.is_file())
    contents = [file.read_bytes() for file in files]
    assert len(files) >= 4

    @seed(batch)
    @fuzzing(examples)
    @given(st.integers(0, len(files) - 1), mutations.blind)
    def each(number: int, changes: list[Any]) -> None:
        files[number].write_bytes(damaged(contents[number], changes))
        check_every_view(copied)
        files[number].write_bytes(contents[number])

    each()


PAGES = (
    "overview", "runs?where=score%3C1", "grid?by=agent,persona&with=1", "search?words=a&all=1", "history",
    "history?case=one&agent=agents.py%3AOne", "versus?other=1&all=1", "label",
)  # fmt: skip
PARTS = ("", "?round=2", "?part=timings", "?part=judge", "?part=files&file=table.csv")
_LOOK = """
let waiting = 0;
const counted = (act) => { waiting++; return act().finally(() => setTimeout(() => waiting--, 20)); };
const [fetched, parsed] = [window.fetch, Response.prototype.json];
window.fetch = (...given) => counted(() => fetched(...given));
Response.prototype.json = function () { return counted(() => parsed.call(this)); };
const settled = async () => {
  do await new Promise((done) => setTimeout(done, 25)); while (waiting);
};
const seen = new Set();
for (const view of arguments[0]) {
  location.hash = view;
  await settled();
  for (const each of arguments[1]) if (document.querySelector("main " + each)) seen.add(each);
}
return Array.from(seen);
"""
DRAWN = ("meter", ".row", ".grid .dot", ".found", ".trends", ".trend-runs", ".versus-runs", ".label-panel h1",
         ".round", ".fall-row", ".request", ".diff .added", ".beside .cell", ".comments li")  # fmt: skip
"""What the views of the whole journal show."""


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(1, each=20, batches=4))
def test_the_page_draws_every_view_of_any_journal(
    lines: list[bytes], copied: Path, serve: Callable[..., Reader], browser: Browser, examples: int, batch: int
) -> None:
    @seed(batch)
    @fuzzing(examples)
    @given(st.lists(st.tuples(st.integers(0, len(lines) - 1), mutations.forged), min_size=1, max_size=4))
    def each(forged: list[tuple[int, list[Any]]]) -> None:
        draw(forged)

    def draw(forged: list[tuple[int, list[Any]]]) -> set[str]:
        changed_lines = list(lines)
        for number, changes in forged:
            new = as_json(changed(json.loads(lines[number]), changes, str(copied.parent / "outside")))
            changed_lines[number] = resealed(new).rstrip(b"\n")
        (copied / FILE).write_bytes(b"\n".join(changed_lines) + b"\n")
        reader = serve(copied, copied, labels=copied / "labels.jsonl")
        rows = [quote(row["id"].encode(errors="replace"), safe="") for row in reader.json("api/0/runs")["rows"]]
        views = [f"#/0/{page}" for page in PAGES] + [f"#/0/beside?runs={','.join(rows[:4])}"]
        views += [f"#/0/run/{run}{part}" for run in rows[:4] for part in PARTS]
        browser.complaints()
        browser.open(reader.server.address)
        seen = browser.run(_LOOK.replace("arguments[0]", json.dumps(views)).replace("arguments[1]", json.dumps(DRAWN)))
        errors = [each for each in browser.complaints() if not re.search(r"status of 4\d\d", each)]
        assert not errors, errors
        return set(seen)

    assert draw([]) == set(DRAWN)
    each()


def test_a_damaged_and_a_forged_journal_are_exported(lines: list[bytes], tmp_path: Path) -> None:
    for place, content in enumerate((b"\n".join(lines)[:-40], b"\xff\xfe{}\n[1]\n" + lines[0], b"")):
        (tmp_path / str(place)).mkdir()
        (tmp_path / str(place) / FILE).write_bytes(content)
        exported(tmp_path / f"out-{place}", tmp_path / str(place))


def test_numbers_that_json_lacks_and_lone_surrogates_do_not_reach_the_page() -> None:
    value = {"a": [float("inf"), float("nan"), 1.5], "b": ("lone \ud800",)}
    assert json.loads(to_json(value)) == {"a": [None, None, 1.5], "b": ["lone ?"]}
