"""A case as the source of an export: plain data, each value of which is exported or reported."""

from __future__ import annotations

from typing import Any

from viva.cases import Case
from viva.cases.checks.reader import check_of
from viva.cases.checks.words import statement_of
from viva.cases.points.as_in_a_file import points_as_in_a_file
from viva.interchange.drafts.draft import INCOMPLETE
from viva.interchange.drafts.rows import is_of_case
from viva.interchange.drafts.wording import as_text
from viva.interchange.ledger import Ledger
from viva.interchange.plain_data import plain_data
from viva.interchange.source import Source
from viva.records.codec import to_plain

OF_VIVA = ("name", "file", "hash", "data_folder", "point_groups", "for_recordings", "entry", "row")
"""Fields that say where a case lies, or that its reader makes of others."""


def short_name(case: Case) -> str:
    """Return what other tools call a case: the id of its row, its own name in its file, or its name."""
    return case.row or case.entry or case.name


def case_tree(case: Case, ledger: Ledger) -> Source:
    """Return a case as a tree. Fields with their usual values are left out."""
    fields: dict[str, Any] = to_plain(case)
    document = {key: value for key, value in fields.items() if key not in OF_VIVA}
    document["scoring_points"] = [_point(point) for point in to_plain(points_as_in_a_file(case))]
    document["script"] = [line["say"] if list(line) == ["say"] else line for line in fields.get("script", ())]
    document["tags"] = _tags(case)
    document["columns"] = {key: value for key, value in case.columns.items() if not is_of_case(key)}
    kept = {key: value for key, value in document.items() if value not in (None, [], {}, "")}
    return Source.root(plain_data(kept, case.name), ledger, case.name)


def _tags(case: Case) -> list[str]:
    """Return the tags that the author gave: not those of the import, of the family, and of columns."""
    if not case.row:
        return [tag for tag in case.tags if tag != INCOMPLETE]
    family = case.name.removesuffix(f"[{case.row}]")
    ours = {INCOMPLETE, family, *(f"{name}={as_text(value)}" for name, value in case.columns.items())}
    return [tag for tag in case.tags if tag not in ours]


def _point(point: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in point.items() if key != "id" and value not in (None, [], {}, False)}
    weights = [inner["weight"] for inner in kept.get("points", ())]
    if weights:  # the weights of points in a group count beside each other alone
        least = min(weights)
        kept["points"] = [_point({**each, "weight": round(each["weight"] / least, 9)}) for each in kept["points"]]
    if kept.get("weight") == 1:
        del kept["weight"]
    if kept.get("check") is not None and kept.get("score_point") == statement_of(check_of(kept["check"])):
        del kept["score_point"]
    return kept
