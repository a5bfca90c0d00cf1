"""A journal of any content opens, and every view of it answers in JSON that a browser reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, changed, damaged, fuzzing
from tests.journals import resealed
from tests.viva.reports.made import keep_image, png, write_run
from tests.viva.viewer.export.test_folder import exported
from viva.errors import SetupError
from viva.exam.kept_workspaces import workspace_name
from viva.journal.errors import JournalError
from viva.journal.lines import FILE
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round, Step, StepKind
from viva.viewer.answers import NotFound
from viva.viewer.routes import Routes
from viva.viewer.watched import WatchedJournal
from viva.viewer.wire import to_json

FILTERS = ("score<1 or tag=smoke", "missed~right or label.scoring_points=hit", "metadata.x=1", "started>2020-01-01")
VIEWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("overview", {}),
    *(("runs", {"order": order}) for order in ("", "case", "-score", "rounds", "seconds", "-cost", "tokens")),
    *(("runs", {"where": where}) for where in FILTERS),
    ("grid", {}),
    ("versus", {"other": "1", "all": "1"}),
    ("versus", {"other": "0"}),
    ("label", {}),
)
OF_RUNS: tuple[tuple[str, dict[str, str]], ...] = (
    ("run", {}), ("run", {"first": "1", "most": "1"}), ("position", {"number": "2"}),
    ("find", {"words": "a"}), ("comments", {}),
)  # fmt: skip
"""What is asked about each run."""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of a journal with runs of all kinds."""
    folder = tmp_path_factory.mktemp("whole")
    with Journal(folder) as journal:
        picture = keep_image(folder, png())
        step = Step("s1", StepKind.TOOL, tool="search", tool_input={"q": 1}, result="found", images=(picture,))
        write_run(journal, "one", steps=(step,), images=(picture,), tags=("smoke",), quote="saved the file")
        write_run(journal, "two", "b", hits=(True, False), reason="wrong", persona="terse")
        write_run(journal, "three", outcome=Outcome.TARGET_ERROR, hits=(False,), error="it died")
        journal.append("setting", "run-1", 1, Setting(case="c", agent="a", workspace=workspace_name("run-1")))
        journal.append("round", "run-1", 1, Round(1, "q", "a"))
    return (folder / FILE).read_bytes().splitlines()


def check_every_view(folder: Path) -> None:
    """Ask every question; what is wrong with a journal is said in words."""
    journals = [WatchedJournal(folder), WatchedJournal(folder)]
    for journal in journals:
        try:
            journal.follow()
        except JournalError:
            return
    routes = Routes(journals)

    def ask(name: str, query: dict[str, str]) -> Any:
        try:
            return _read(to_json(routes.answer(0, name, query)))
        except (SetupError, JournalError, NotFound):
            return None

    _read(to_json(routes.states()))
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


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(20, each=400, batches=6))
def test_any_bytes_in_any_line_leave_every_view_in_order(
    lines: list[bytes], tmp_path: Path, examples: int, batch: int
) -> None:
    whole = b"\n".join(lines) + b"\n"

    @seed(batch)
    @fuzzing(examples)
    @given(mutations.shuffled)
    def each(changes: list[Any]) -> None:
        (tmp_path / FILE).write_bytes(damaged(whole, changes, other=whole))
        check_every_view(tmp_path)

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(40, each=400, batches=6))
def test_any_value_in_any_field_leaves_every_view_in_order(
    lines: list[bytes], tmp_path: Path, examples: int, batch: int
) -> None:
    @seed(batch)
    @fuzzing(examples)
    @given(st.integers(0, len(lines) - 1), mutations.forged, st.booleans())
    def each(number: int, changes: list[Any], sealed: bool) -> None:
        line = as_json(changed(json.loads(lines[number]), changes, str(tmp_path / "outside")))
        new = resealed(line).rstrip(b"\n") if sealed else line
        (tmp_path / FILE).write_bytes(b"\n".join([*lines[:number], new, *lines[number + 1 :]]) + b"\n")
        check_every_view(tmp_path)

    each()


def test_a_damaged_and_a_forged_journal_are_exported(lines: list[bytes], tmp_path: Path) -> None:
    for place, content in enumerate((b"\n".join(lines)[:-40], b"\xff\xfe{}\n[1]\n" + lines[0], b"")):
        (tmp_path / str(place)).mkdir()
        (tmp_path / str(place) / FILE).write_bytes(content)
        exported(tmp_path / f"out-{place}", tmp_path / str(place))


def test_numbers_that_json_lacks_and_lone_surrogates_do_not_reach_the_page() -> None:
    value = {"a": [float("inf"), float("nan"), 1.5], "b": ("lone \ud800",)}
    assert json.loads(to_json(value)) == {"a": [None, None, 1.5], "b": ["lone ?"]}
