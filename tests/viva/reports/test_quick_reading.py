"""Reports say the same, to the byte, whether records are read quickly or at leisure."""

from __future__ import annotations

import io
from pathlib import Path
from types import ModuleType
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viva.reports.made import write_hostile, write_suite
from viva.exam.run_history import history_of
from viva.journal import run_index
from viva.journal.writer import FILE
from viva.records.text import one_line
from viva.reports import json_document, junit
from viva.reports.formats import writer
from viva.reports.journals import joined
from viva.statistics.over_time.trends import find_trends


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with hostile texts, with a suite, with torn lines and with a line of another writer."""
    made = write_hostile(tmp_path_factory.mktemp("quick") / "journal")
    write_suite(made, 4, 2, 2)
    file = made / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    ended = [line for line in lines if b'"event":"run"' in line]
    other = ended[-1].replace(b'"data":{', b'"data": {"new": 1, ')
    file.write_bytes(b"".join([*lines, ended[0][:200] + b"\n", other[: other.rindex(b',"crc"')] + b"}\n", ended[1]]))
    return made


@pytest.mark.parametrize("name", ["console", "html", "csv", "json", "junit", "markdown"])
def test_a_report_is_the_same_without_structs(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda *_: "now")
    quick = _report(folder, name)
    monkeypatch.setattr(run_index, "read_record", lambda _: None)
    assert quick == _report(folder, name)


@pytest.mark.parametrize(("name", "module"), [("json", json_document), ("junit", junit)])
def test_a_document_in_many_pieces_is_the_same(
    folder: Path, name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda *_: "now")
    whole = _report(folder, name)
    monkeypatch.setattr(module, "BATCH", 1)
    assert _report(folder, name) == whole


@given(st.text(st.sampled_from("&<>\"'\n\t\r a=\ufffe\x7fé")))
def test_an_attribute_that_needs_no_escape_is_written_as_any_other(text: str) -> None:
    shown = one_line(text, 400).replace("\ufffe", "\ufffd")
    assert junit._attribute(text) == quoteattr(shown)


def test_trends_are_the_same_without_structs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = find_trends(history_of([str(folder)]).records())
    monkeypatch.setattr(run_index, "read_record", lambda _: None)
    assert quick == find_trends(history_of([str(folder)]).records())


def _report(folder: Path, name: str) -> str:
    out = io.StringIO()
    writer(name)(joined([str(folder)]), out)
    return out.getvalue()
