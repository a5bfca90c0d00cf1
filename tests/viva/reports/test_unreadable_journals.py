"""A journal of which no line can be read is told with every format, and is never a success."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.viva.conftest import Desk
from viva.reports.formats import FORMATS

LOST = "no line of the journal bad can be read: 2 unreadable lines"


@pytest.fixture
def bad(desk: Desk) -> Path:
    folder = desk.folder / "bad"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("garbage\nmore\n")
    return folder


@pytest.mark.parametrize("kind", FORMATS.builtin)
@pytest.mark.parametrize("out", [(), ("--out", "written")])
@pytest.mark.usefixtures("bad")
def test_every_format_tells_a_journal_that_cannot_be_read(desk: Desk, kind: str, out: tuple[str, ...]) -> None:
    assert LOST in desk.viva("report", "bad", "--format", kind, *out, expect=3).stderr


@pytest.mark.usefixtures("bad")
def test_it_is_an_error_for_a_reader_of_junit(desk: Desk) -> None:
    document = ElementTree.fromstring(desk.viva("report", "bad", "--format", "junit", expect=3).stdout)
    assert (document.get("tests"), document.get("errors")) == ("1", "1")


@pytest.mark.parametrize("kind", [kind for kind in FORMATS.builtin if not kind.startswith(("training", "atif"))])
def test_single_lines_that_cannot_be_read_are_told_too(desk: Desk, kind: str) -> None:
    desk.run("echo")
    with (desk.folder / "journal" / "journal.jsonl").open("a") as file:
        file.write("garbage\n")
    done = desk.viva("report", "journal", "--format", kind, "--out", "written", expect=0)
    assert "1 unreadable line of the journal" in done.stderr + (desk.folder / "written").read_text()


def test_a_new_journal_is_not_damaged(desk: Desk) -> None:
    (desk.folder / "empty").mkdir()
    (desk.folder / "empty" / "journal.jsonl").touch()
    assert "can be read" not in desk.viva("report", "empty", expect=0).stderr
