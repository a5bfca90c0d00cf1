"""Exports cases to files of other tools, and accounts for every value of a case."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.cases import Case, find_case, find_cases, load_cases
from viva.cases.plain_fields import nearest
from viva.errors import SetupError
from viva.interchange.case_tree import case_tree, short_name
from viva.interchange.ledger import Gap, Ledger, Note, shown_path
from viva.interchange.promptfoo import exporter as promptfoo
from viva.interchange.pydantic_evals import exporter as pydantic_evals
from viva.interchange.report import Reported
from viva.interchange.rows import exporter as rows
from viva.interchange.rows.targets import TARGETS, target_named
from viva.interchange.source import Source
from viva.interchange.yaml_text import yaml_text
from viva.records.text import one_line

Trees = Sequence[tuple[str, Source]]
_DOCUMENTS: Mapping[str, Callable[[Trees], str]] = {
    "promptfoo": lambda trees: yaml_text(promptfoo.export(trees), [promptfoo.PROVIDERS]),
    "pydantic-evals": lambda trees: yaml_text(pydantic_evals.export(trees)),
}
"""Formats that are one document, and what writes it."""
FORMATS: Mapping[str, str] = {
    "promptfoo": "A configuration of promptfoo in YAML.",
    "pydantic-evals": "A dataset of pydantic-evals in YAML.",
    **{target.name: target.words for target in TARGETS},
}
"""The formats that cases can be exported to, and what they are."""
UNKNOWN = "the format has nothing like it"

CaseLike = Case | str | os.PathLike[str]


@dataclass(slots=True)
class ExportReport:
    """The result of an export."""

    format: str
    cases: int
    """Number of cases."""
    text: str
    """The content of the file."""
    reported: list[Reported] = field(default_factory=list)
    """Every value of a case that is not in the file, or means something else there."""


def export_cases(
    cases: CaseLike | Iterable[CaseLike],
    out: str | os.PathLike[str],
    *,
    format: str,  # noqa: A002 - as the argument of `import_cases`
    mapping: Mapping[str, str] | None = None,
    tags: str | list[str] | tuple[str, ...] = (),
) -> ExportReport:
    """Write cases to a new file for another tool. Code is never exported.

    Args:
        cases: A case, a folder of cases, or several of them; paths, names and Case objects.
        out: The file, which must not exist. For rows, the ending `.csv` chooses CSV.
        format: `promptfoo`, `pydantic-evals`, `rows`, `langsmith`, `langfuse`, `mlflow`, `braintrust` or `datadog`.
        mapping: For rows: where the parts of a case go, as dotted paths: `{"input": "inputs.question"}`.
        tags: Export only cases with one of these.

    Returns:
        What was written, and every value of a case that is not in it.

    Raises:
        SetupError: there is no such format or no case, or the file exists.
        CaseError: a case cannot be read.
    """
    listed = [cases] if isinstance(cases, Case | str | os.PathLike) else list(cases)
    wanted = [tags] if isinstance(tags, str) else tags
    found = [case for each in listed for case in _loaded(each) if not wanted or set(wanted) & set(case.tags)]
    if not found:
        words = f" with the tag {' or '.join(wanted)}" if wanted else ""
        raise SetupError(f"there are no cases{words} in {', '.join(str(each) for each in listed) or 'an empty list'}.")
    file = Path(out)
    report = exported(found, format, file.suffix.lower(), mapping or {})
    write_new(file, report.text)
    return report


def exported(
    cases: Sequence[Case], to: str, suffix: str = "", mapping: Mapping[str, str] | None = None
) -> ExportReport:
    """Return cases in the format of another tool.

    Args:
        cases: The cases.
        to: The format.
        suffix: Ending of the file, which chooses between JSON Lines and CSV.
        mapping: For rows: where the parts of a case go.

    Raises:
        SetupError: there is no such format, or it is no format of rows and something is mapped.
    """
    target = target_named(to)
    if target is None and to not in _DOCUMENTS:
        raise SetupError(f"there is no format {to!r} to export to; {nearest(to, FORMATS)}")
    if target is None and mapping:
        raise SetupError(f"--map is for rows; {to} says itself where the parts of a case are.")
    ledger = Ledger()
    short = Counter(map(short_name, cases))
    trees = [
        (short_name(case) if short[short_name(case)] == 1 else case.name, case_tree(case, ledger)) for case in cases
    ]
    if target is None:
        text = _DOCUMENTS[to](trees)
    else:
        text = rows.export(trees, target.mapped(mapping or {}), as_table=suffix == ".csv")
    return ExportReport(to, len(cases), text, _reported(ledger))


def write_new(file: Path, text: str) -> None:
    """Write a file that must not exist.

    Raises:
        SetupError: it exists, or cannot be written.
    """
    try:
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise SetupError(f"{file} exists already; name a new file.") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SetupError(f"{file} cannot be written: {why}.") from error


def _loaded(given: CaseLike) -> list[Case]:
    if isinstance(given, Case):
        return [given]
    path = Path(given)
    found = find_cases(path) if path.is_dir() else [find_case(os.fspath(given))]
    return [case for each in found for case in load_cases(each)]


def _reported(ledger: Ledger) -> list[Reported]:
    found: list[Reported] = []
    for leaf in ledger:
        if not leaf.is_accounted_for and not leaf.is_empty:
            leaf.notes.append(Note(Gap.NO_HOME, UNKNOWN))
        value: Any = leaf.value if isinstance(leaf.value, str) else str(leaf.value)
        place = shown_path(leaf.document, leaf.path)
        found += [Reported(place, one_line(value, 160), note.kind, note.why) for note in leaf.notes]
    return [*found, *(Reported(place, "", note.kind, note.why) for place, note in ledger.remarks)]
