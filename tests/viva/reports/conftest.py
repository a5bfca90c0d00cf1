"""What the tests of reports share."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.viva.reports.browser import Browser, installed
from viva.reports import csv_table, json_document, junit
from viva.reports.console import report as console
from viva.reports.journals import joined
from viva.reports.markdown import report as markdown
from viva.reports.page import report as page

WRITERS = {
    "console": console.write,
    "csv": csv_table.write,
    "json": json_document.write,
    "junit": junit.write,
    "markdown": markdown.write,
    "html": page.write,
}


def report(kind: str, *journals: Path | str, threshold: float = 1.0) -> str:
    """A report as text that a UTF-8 file can hold."""
    out = io.StringIO(newline="")
    WRITERS[kind](joined([str(journal) for journal in journals], threshold), out)
    text = out.getvalue()
    text.encode("utf-8")
    return text


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real Chromium, with one window for all tests."""
    require("chromium", installed(), "needs chromium and chromedriver (Debian: chromium-driver)")
    with Browser(tmp_path_factory.mktemp("profile")) as window:
        yield window


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The window, which is as wide and as bright as at first."""
    yield chromium
    chromium.as_at_first()
