"""Reads the scoring points of a case file, which may hold points of their own, and require others."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from viva.cases.case import PointGroup, ScoringPoint
from viva.cases.person_fields import PersonReader
from viva.cases.plain_fields import is_number, nearest
from viva.cases.points.requirements import Edges, cycle_in
from viva.cases.text import describe, point_ids

LEAF_KEYS = ("score_point", "weight", "eval_code", "check", "id", "require", "shown", "round", "metadata")
GROUP_KEYS = ("score_point", "weight", "id", "require", "points")
POINT_KEYS = (*LEAF_KEYS, "points")
MAX_LEVELS = 12
"""Maximum depth of a tree of scoring points."""
LAYERS = ("step", "said", "code", "file", "environment")
"""What a point may require a hit to rest on."""
FILES = "files"
"""The only thing beside the transcript that a judge can be shown."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

Path = tuple[str | int, ...]


@dataclass(slots=True)
class _Draft:
    """A scoring point as it is read, before the ids and weights of the tree are known."""

    where: Path
    statement: str
    weight: float
    code: str | None
    given_id: str | None
    require: tuple[tuple[str, Path], ...]
    """The ids, and where each stands."""
    shown: str | None
    round: int | None
    metadata: dict[str, Any]
    check: dict[str, Any] | None
    points: list[_Draft] = field(default_factory=list)
    id: str = ""

    def nodes(self) -> Iterator[_Draft]:
        """Yield this point and those below it, each before its own."""
        yield self
        for point in self.points:
            yield from point.nodes()


class PointReader(PersonReader):
    """Reads the scoring points of one mapping."""

    groups: tuple[PointGroup, ...] = ()
    """The inner nodes that `scoring_points` found."""

    def evidence(self, key: str) -> tuple[str, ...]:
        """Read what the judge is shown beside the transcript."""
        names = self.indexed_texts(key, or_one=True)
        for index, name in names.items():
            if name != FILES:
                self.add_mistake(f"{key} must be {FILES}, not {describe(name)}", key, index)
        return tuple(dict.fromkeys(names.values()))

    def scoring_points(self, key: str) -> tuple[ScoringPoint, ...]:
        """Read the scoring points: the leaves of the tree, if there is one."""
        value = self.data.get(key)
        if not isinstance(value, list) or not value:
            missing = "is missing" if value is None else "must be a list with at least one scoring point"
            self.add_mistake(f"{key} {missing}", key)
            return ()
        drafts = self._drafts(value, (key,), 1)
        nodes = [node for draft in drafts for node in draft.nodes()]
        self._name(nodes)
        self._check_required(nodes)
        groups: list[PointGroup] = []
        leaves: list[ScoringPoint] = []
        for draft in drafts:
            self._spread(draft, draft.weight, (), (), groups, leaves)
        self.groups = tuple(groups)
        return tuple(leaves)

    def _drafts(self, items: list[Any], path: Path, level: int) -> list[_Draft]:
        found = (self._draft(item, (*path, index), level) for index, item in enumerate(items))
        return [draft for draft in found if draft is not None]

    def _draft(self, item: Any, path: Path, level: int) -> _Draft | None:
        if isinstance(item, str):
            item = {"score_point": item}
        if not isinstance(item, dict):
            keys = ", ".join(LEAF_KEYS[:4])
            self.add_mistake(f"a scoring point is a statement, or has the keys {keys}; this is {describe(item)}", *path)
            return None
        inner = item.get("points") is not None
        if not all(key in POINT_KEYS for key in item):
            item = self._with_check(item, path)
        self.check_keys(item, POINT_KEYS, *path)
        for key in ("eval_code", "check", "shown", "round", "metadata"):
            if inner and item.get(key) is not None:
                words = f"{key} has no effect on a point with points of its own: move it to one of them"
                self.add_mistake(words, *path, key)
        weight, code = item.get("weight", 1), item.get("eval_code")
        number = None if inner else self._round(item, *path, "round")
        check, in_words = (None, None) if inner else self._check(item.get("check"), number, *path, "check")
        statement = self._statement(item.get("score_point"), in_words, *path, "score_point")
        if not is_number(weight):
            self.add_mistake(f"weight must be a number above 0, not {describe(weight)}", *path, "weight")
            weight = 1
        if code is not None and not inner:
            self._check_code(code, *path, "eval_code")
            if item.get("check") is not None:
                self.add_mistake("a scoring point has either check or eval_code: remove one of them", *path, "check")
        draft = _Draft(
            path,
            statement,
            float(weight or 1),
            code if isinstance(code, str) else None,
            self._given_id(item.get("id"), *path, "id"),
            self._ids_required(item.get("require"), (*path, "require")),
            None if inner else self._shown(item, *path, "shown"),
            number,
            {} if inner else self.json_mapping(item.get("metadata"), *path, "metadata"),
            check,
        )
        if inner:
            draft.points = self._inner(item["points"], (*path, "points"), level + 1)
        return draft

    def _inner(self, items: Any, path: Path, level: int) -> list[_Draft]:
        if not isinstance(items, list) or not items:
            self.add_mistake("points must be a list with at least one scoring point", *path)
            return []
        if level > MAX_LEVELS:
            self.add_mistake(f"points are nested deeper than {MAX_LEVELS} levels: join some of them", *path)
            return []
        return self._drafts(items, path, level)

    def _statement(self, value: Any, of_check: str | None, *path: str | int) -> str:
        """Return the statement, which a point with a check may leave out: then the check says it in words."""
        if value is None and of_check is not None:
            return of_check
        if isinstance(value, str) and value.strip():
            return value
        wrong = "is missing" if value is None else f"must be text, not {describe(value)}; put it in quotes"
        self.add_mistake(f"score_point {'is empty' if isinstance(value, str) else wrong}", *path)
        return ""

    def _check(self, value: Any, number: int | None, *path: str | int) -> tuple[dict[str, Any] | None, str | None]:
        """Return a check as it is stored, and in words; of one with mistakes, empty ones."""
        if value is None:
            return None, None
        # Here, because most cases have no checks.
        from viva.cases.checks.reader import CheckMistake, read_check, stored_form
        from viva.cases.checks.uses import in_round, round_fault
        from viva.cases.checks.words import statement_of

        try:
            check = read_check(value)
        except CheckMistake as error:
            for message, inside in error.faults:
                self.add_mistake(f"check: {message}", *path, *inside)
            return None, ""
        if number is not None and (fault := round_fault(check)) is not None:
            self.add_mistake(fault, *path[:-1], "round")
        return stored_form(value), statement_of(in_round(check, number))

    def _with_check(self, item: dict[Any, Any], path: Path) -> dict[Any, Any]:
        """Return a point with what it states beside its check, and not inside of it, reported and moved there."""
        from viva.cases.checks.reader import KEYS

        check = {key: value for key, value in item.items() if key in KEYS}
        if not check or any(item.get(key) is not None for key in ("check", "eval_code", "points")):
            return item
        first = next(iter(check))
        self.add_mistake(f"{first} is part of a check: write check: {{{first}: …}}", *path, first)
        return {**{key: value for key, value in item.items() if key not in KEYS}, "check": check}

    def _given_id(self, value: Any, *path: str | int) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not _ID.fullmatch(value):
            words = "id must be a name of at most 64 letters, digits, '_', '-' and '.'"
            self.add_mistake(f"{words}, not {describe(value)}", *path)
            return None
        return value

    def _ids_required(self, value: Any, path: Path) -> tuple[tuple[str, Path], ...]:
        if value is None:
            return ()
        if isinstance(value, str):
            return ((value, path),)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.add_mistake(f"require must be a list of ids of scoring points, not {describe(value)}", *path)
            return ()
        return tuple((each, (*path, index)) for index, each in enumerate(value))

    def _shown(self, item: dict[Any, Any], *path: str | int) -> str | None:
        value = item.get("shown")
        by_code = next((key for key in ("eval_code", "check") if item.get(key) is not None), None)
        if value is None:
            return None
        if value not in LAYERS:
            hint = nearest(str(value), LAYERS)
            self.add_mistake(f"shown must be one of {', '.join(LAYERS)}, not {describe(value)}; {hint}", *path)
        elif value == "code" and by_code is None:
            self.add_mistake("shown: code requires eval_code or check, which this point does not have", *path)
        elif value != "code" and by_code is not None:
            words = f"shown: {value} is about what a model judges, and this point has {by_code}: remove one of them"
            self.add_mistake(words, *path)
        elif value == "file" and FILES not in (self.data.get("evidence") or ()):
            words = "shown: file requires that the judge is shown the files: add 'evidence: files' to the case"
            self.add_mistake(words, *path)
        return value if value in LAYERS else None

    def _round(self, item: dict[Any, Any], *path: str | int) -> int | None:
        value = item.get("round")
        if value is None:
            return None
        if not is_number(value) or not isinstance(value, int):
            self.add_mistake(f"round must be the number of a round, from 1, not {describe(value)}", *path)
            return None
        if item.get("eval_code") is not None:
            words = f"eval_code sees all rounds: write rounds[{value - 1}] in the code, and remove round"
            self.add_mistake(f"round does not bind eval_code, because {words}", *path)
        if item.get("shown") == "file":
            words = "shown: file is about the files after the last round, and round about one round: remove one of them"
            self.add_mistake(words, *path)
        most = self.data.get("max_rounds")
        if most is not None and is_number(most) and value > most:
            self.add_mistake(f"round {value} never takes place: max_rounds is {describe(most)}", *path)
        return value

    def _name(self, nodes: list[_Draft]) -> None:
        """Give each point its id, and report an id that occurs twice."""
        seen: set[str] = set()
        for node, made in zip(nodes, point_ids([node.statement for node in nodes]), strict=True):
            node.id = node.given_id or made
            if node.id in seen:
                self.add_mistake(f"another scoring point has the id {node.id!r}, too", *node.where, "id")
            seen.add(node.id)

    def _check_required(self, nodes: list[_Draft]) -> None:
        known = {node.id: node for node in nodes}
        edges: Edges = {}
        asked: dict[tuple[str, str], Path] = {}
        """Where the file says that the first requires the second."""
        for node in nodes:
            for name, where in node.require:
                if name not in known:
                    self.add_mistake(f"no scoring point has the id {describe(name)}; {nearest(name, known)}", *where)
            required = {name: where for name, where in node.require if name in known}
            # A group is hit by its points, and what it requires is required by each of them.
            for leaf in (each for each in node.nodes() if not each.points):
                edges.setdefault(leaf.id, []).extend(required)
                asked |= {(leaf.id, name): where for name, where in required.items()}
            if node.points:
                edges.setdefault(node.id, []).extend(point.id for point in node.points)
        if cycle := cycle_in(edges):
            where = next(asked[pair] for pair in pairwise(cycle) if pair in asked)
            self.add_mistake(f"require goes in a circle: {' -> '.join(cycle)}", *where)

    def _spread(
        self,
        draft: _Draft,
        weight: float,
        path: tuple[str, ...],
        inherited: tuple[str, ...],
        groups: list[PointGroup],
        leaves: list[ScoringPoint],
    ) -> None:
        """Add a point to `groups` or `leaves`; the points of a group share its weight by their own."""
        require = tuple(dict.fromkeys((*inherited, *(name for name, _ in draft.require))))
        if not draft.points:
            if not weight > 0:
                self.add_mistake("weight is too small to count beside the others of the tree", *draft.where, "weight")
            leaves.append(
                ScoringPoint(
                    draft.id,
                    draft.statement,
                    weight,
                    draft.code,
                    path=path,
                    require=require,
                    shown=draft.shown,
                    round=draft.round,
                    metadata=draft.metadata,
                    check=draft.check,
                )
            )
            return
        groups.append(PointGroup(draft.id, draft.statement, path))
        total = math.fsum(point.weight for point in draft.points)
        for point in draft.points:
            self._spread(point, weight * (point.weight / total), (*path, draft.id), require, groups, leaves)

    def _check_code(self, code: Any, *path: str | int) -> None:
        if not isinstance(code, str) or not code.strip():
            self.add_mistake(f"eval_code must be Python code, not {describe(code)}; leave it out to have none", *path)
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(code, "eval_code")
                compile(tree, "eval_code", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            detail = error.msg if isinstance(error, SyntaxError) else str(error)
            if isinstance(error, RecursionError | MemoryError):  # what these say differs between Pythons
                detail = "it is nested too deeply"
            where = f" (its line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
            hint = "; a check passes when it ends without an exception, so use assert" if "'return'" in detail else ""
            self.add_mistake(f"eval_code does not compile: {detail}{where}{hint}", *path)
            return
        if not tree.body:
            self.add_mistake("eval_code checks nothing: it holds only comments", *path)
