"""The table of report formats: where each is written, and which ending of a file's name asks for it.

A format is a function `write(journals, out)`; it is imported when it is used. One of a user's own is named by import
string or announced as an entry point.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from adapters.calls import describe
from adapters.errors import SetupError
from records.import_strings import PluginError
from records.journal import JournalError
from records.plugins import Kind, load

if TYPE_CHECKING:
    from harness.reports.journals import Journals

Writer = Callable[["Journals", TextIO], None]
FORMATS = Kind(
    "report format",
    "viva.reports",
    {
        "console": "harness.reports.console:write",
        "csv": "harness.reports.csv_table:write",
        "json": "harness.reports.json_document:write",
        "junit": "harness.reports.junit:write",
        "markdown": "harness.reports.markdown:write",
        "html": "harness.reports.page:write",
    },
)
ENDINGS = {
    ".txt": "console",
    ".csv": "csv",
    ".json": "json",
    ".xml": "junit",
    ".md": "markdown",
    ".html": "html",
}
"""Ending of a file's name to the name of its format."""


def writer(spec: str) -> Writer:
    """Import the function that writes a format.

    Args:
        spec: A built-in name, the name of an entry point, or an import string (`package.module:write`,
            `file.py:write`). What goes wrong in a format that did not come with Viva is raised as a SetupError.

    Raises:
        SetupError: there is no such format, it cannot be imported, or it is nothing that can be called.
    """
    try:
        write: Any = load(FORMATS, spec)
    except PluginError as error:
        raise SetupError(str(error)) from error
    if not callable(write) or isinstance(write, type):
        raise SetupError(f"{spec!r} is no report format: it must be a function write(journals, out).")
    return write if spec in FORMATS.builtin else _from_elsewhere(write, spec)


def _from_elsewhere(write: Writer, spec: str) -> Writer:
    def checked(journals: Journals, out: TextIO) -> None:
        try:
            write(journals, out)
        except (SetupError, JournalError, OSError):
            raise
        except Exception as error:
            raise SetupError(f"the report format {spec} failed: {describe(error)}.") from error

    return checked


def format_for(out: Path) -> str:
    """Name the format that a file's ending asks for.

    Raises:
        SetupError: no format has this ending.
    """
    found = ENDINGS.get(out.suffix.lower())
    if found is None:
        ending = f"no format has the ending {out.suffix!r}" if out.suffix else "it has no ending that names a format"
        raise SetupError(
            f"cannot tell the format of {out}: {ending}. There are {', '.join(ENDINGS)}; or give --format."
        )
    return found
