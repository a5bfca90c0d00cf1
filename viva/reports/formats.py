"""The table of report formats: the function that writes each format, and the file extension that selects it.

A format is a function `write(journals, out)`, which is imported when it is used. A user's own format is named by import
string or declared as an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.journal.writer import JournalError
from viva.plugins.import_strings import PluginError
from viva.plugins.kinds import Kind, load
from viva.reports.output_file import is_standard_output, is_stream
from viva.streams import descriptor_named

if TYPE_CHECKING:
    from viva.reports.journals import Journals

Writer = Callable[["Journals", TextIO], None]
FORMATS = Kind(
    "report format",
    "viva.reports",
    {
        "console": "viva.reports.console.report:write",
        "csv": "viva.reports.csv_table:write",
        "json": "viva.reports.json_document:write",
        "junit": "viva.reports.junit:write",
        "markdown": "viva.reports.markdown.report:write",
        "html": "viva.reports.page.report:write",
        "atif": "viva.reports.atif:write",
        "training": "viva.reports.training:write",
        "training_supervised": "viva.reports.training:write_supervised",
        "training_preference": "viva.reports.training:write_preference",
        "training_reward": "viva.reports.training:write_reward",
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
"""The names of formats, by file extension."""
ENDINGS_BY_NAME = (".jsonl", ".tsv", ".htm", ".markdown", ".log")
"""Further extensions of files whose format is given by name."""


def writer(spec: str) -> Writer:
    """Import the function that writes a format.

    Args:
        spec: A built-in name, the name of an entry point, or an import string (`package.module:write`,
            `file.py:write`). A function that is not built in raises its failures as SetupError.

    Raises:
        SetupError: there is no such format, it cannot be imported, or it is not callable.
    """
    try:
        write: Any = load(FORMATS, spec)
    except PluginError as error:
        raise SetupError(str(error)) from error
    if not callable(write) or isinstance(write, type):
        raise SetupError(f"{spec!r} is not a report format: it must be a function write(journals, out).")
    return write if spec in FORMATS.builtin else _from_elsewhere(write, spec)


def _from_elsewhere(write: Writer, spec: str) -> Writer:
    def checked(journals: Journals, out: TextIO) -> None:
        try:
            write(journals, out)
        except (SetupError, JournalError, OSError):
            raise
        except Exception as error:
            raise SetupError(f"the report format {spec} failed: {describe_part(error, write)}.") from error

    return checked


def choose_format(out: Path | None, kind: str | None = None, endings: Mapping[str, str] = ENDINGS) -> str:
    """Return the format of an output: the one that was asked for, or the one that the file's extension selects.

    Args:
        out: Where the report is to be written; None, `-` and `/dev/stdout` are standard output.
        kind: The name of a format or an import string; None if none was given.
        endings: The extensions that select a format, and the formats' names.

    Raises:
        SetupError: no format has this extension, so the file would not be what its name says.
    """
    if out is None or descriptor_named(out) is not None or is_standard_output(out):
        return kind or "console"
    ending = out.suffix.lower()
    if kind is None and ending in endings:
        return endings[ending]
    known = ", ".join(endings)
    if kind is None:
        why = f"no format has the extension {out.suffix!r}" if out.suffix else "it has no file extension"
        raise SetupError(f"cannot tell the format of {out}: {why}. Use one of {known}, or give --format.")
    known_endings = {"", f".{kind}", *endings, *ENDINGS_BY_NAME}
    if kind in FORMATS.builtin and ending not in known_endings and not is_stream(out):
        raise SetupError(
            f"no format has the extension {out.suffix!r} of {out}. Use one of {known} (with --format also "
            f"{', '.join(ENDINGS_BY_NAME)} and names without an extension)."
        )
    return kind
