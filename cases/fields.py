"""Checks the fields of a case file one by one, collecting mistakes instead of stopping at the first."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from cases.case import ScoringPoint
from cases.data_files import copied_to, data_file_fault
from cases.errors import Mistake
from cases.script import SCRIPT_KEYS, ScriptMistake, read_script_line
from cases.text import describe, point_ids
from cases.yaml_lines import Lines

CASE_KEYS = (
    "version",
    "task_description",
    "scoring_points",
    "config_var",
    "app_dir",
    "dependencies",
    "data_files",
    "max_rounds",
    "pre_command",
    "verbose",
    "script",
    "tags",
    "timeout",
)
MOST = 1e15
"""The largest number that any field takes."""
POINT_KEYS = ("score_point", "weight", "eval_code")


class Reader:
    """Reads the fields of one case file; `read` is to be trusted only if `mistakes` is empty afterwards."""

    def __init__(self, data: dict[Any, Any], lines: Lines, file: Path) -> None:
        self.data = data
        self.lines = lines
        self.file = file
        self.mistakes: list[Mistake] = []
        for key, line in lines.duplicates:
            self.mistakes.append(
                Mistake(f"{key!r} stands here a second time; YAML would silently drop the first", line)
            )

    def read(self) -> dict[str, Any]:
        """The fields of a Case, but for those that say where it lies."""
        self._known_keys(self.data, CASE_KEYS, ())
        task = self._text("task_description", required=True)
        return {
            "task_description": task,
            "scoring_points": self._points(),
            "version": None if self.data.get("version") is None else str(self.data["version"]),
            "config_var": self._config_var(),
            "app_dir": self._text("app_dir"),
            "dependencies": self._dependencies(),
            "data_files": self._data_files(),
            "max_rounds": self._whole("max_rounds"),
            "pre_command": tuple(self._texts("pre_command", alone=True).values()),
            "verbose": self._flag("verbose"),
            "script": self._script(),
            "tags": tuple(self._texts("tags").values()),
            "timeout": self._positive("timeout"),
        }

    def _wrong(self, message: str, *path: str | int) -> None:
        self.mistakes.append(Mistake(message, self.lines.of(*path)))

    def _known_keys(self, mapping: dict[Any, Any], known: Collection[str], path: tuple[str | int, ...]) -> None:
        for key in mapping:
            if key in known:
                continue
            near = difflib.get_close_matches(str(key), known, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
            self._wrong(f"unknown key {describe(key)}; {hint}", *path, str(key))

    def _text(self, key: str, *, required: bool = False) -> str | None:
        value = self.data.get(key)
        if value is None and not required:
            return None
        if value is None:
            self._wrong(f"{key} is missing" if key not in self.data else f"{key} is empty", key)
            return ""
        if not isinstance(value, str):
            self._wrong(f"{key} must be text, not {describe(value)}; put it in quotes", key)
            return ""
        if not value.strip():
            self._wrong(f"{key} is empty", key)
        return value

    def _texts(self, key: str, *, alone: bool = False) -> dict[int, str]:
        """The sound entries of a list of texts, by their places in it."""
        value = self.data.get(key)
        if value is None:
            return {}
        if alone and isinstance(value, str) and value.strip():
            return {0: value}
        if not isinstance(value, list):
            self._wrong(f"{key} must be a list, not {describe(value)}", key)
            return {}
        texts = {}
        for index, item in enumerate(value):
            if isinstance(item, str) and item.strip():
                texts[index] = item
            else:
                self._wrong(f"{key} holds {describe(item)}; each entry must be text", key, index)
        return texts

    def _number(self, value: Any) -> bool:
        # The upper limit keeps sums finite; it also turns away infinity, and NaN is in no range.
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST

    def _whole(self, key: str) -> int | None:
        value = self.data.get(key)
        if value is None:
            return None
        if not self._number(value) or not isinstance(value, int):
            self._wrong(f"{key} must be a whole number above 0, not {describe(value)}", key)
            return None
        return value

    def _positive(self, key: str) -> float | None:
        value = self.data.get(key)
        if value is None:
            return None
        if not self._number(value):
            self._wrong(f"{key} must be a number above 0 (seconds), not {describe(value)}", key)
            return None
        return float(value)

    def _flag(self, key: str) -> bool:
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            self._wrong(f"{key} must be true or false, not {describe(value)}", key)
        return value is True

    def _config_var(self) -> dict[str, Any] | None:
        value = self.data.get("config_var")
        if value is not None and not isinstance(value, dict):
            self._wrong(f"config_var must be a mapping, not {describe(value)}", "config_var")
            return None
        return value

    def _dependencies(self) -> tuple[str, ...]:
        names = self._texts("dependencies")
        for index, name in names.items():
            try:
                Requirement(name)
            except InvalidRequirement as error:
                reason = str(error).splitlines()[0]
                self._wrong(f"dependency {name!r} is not a requirement (PEP 508): {reason}", "dependencies", index)
        return tuple(names.values())

    def _data_files(self) -> tuple[str, ...]:
        names = self._texts("data_files")
        landed: dict[str, str] = {}
        for index, name in names.items():
            fault = data_file_fault(self.file, name)
            if fault is None:
                other = landed.setdefault(copied_to(self.file, name), name)
                fault = None if other == name else f"would be copied over {describe(other)}"
            if fault is not None:
                self._wrong(f"data file {describe(name)} {fault}", "data_files", index)
        return tuple(names.values())

    def _points(self) -> tuple[ScoringPoint, ...]:
        value = self.data.get("scoring_points")
        if not isinstance(value, list) or not value:
            missing = "is missing" if value is None else "must be a list with at least one scoring point"
            self._wrong(f"scoring_points {missing}", "scoring_points")
            return ()
        statements = [str(item.get("score_point")) if isinstance(item, dict) else "" for item in value]
        return tuple(
            point
            for index, (item, name) in enumerate(zip(value, point_ids(statements), strict=True))
            if (point := self._point(item, name, index)) is not None
        )

    def _point(self, item: Any, name: str, index: int) -> ScoringPoint | None:
        path = ("scoring_points", index)
        if not isinstance(item, dict):
            self._wrong(f"a scoring point has the keys {', '.join(POINT_KEYS)}; this is {describe(item)}", *path)
            return None
        self._known_keys(item, POINT_KEYS, path)
        statement, weight, code = item.get("score_point"), item.get("weight"), item.get("eval_code")
        if not isinstance(statement, str) or not statement.strip():
            wrong = "is missing" if statement is None else f"must be text, not {describe(statement)}; put it in quotes"
            self._wrong(f"score_point {'is empty' if isinstance(statement, str) else wrong}", *path, "score_point")
            statement = ""
        if not self._number(weight):
            wrong = "is missing" if "weight" not in item else f"must be a number above 0, not {describe(weight)}"
            self._wrong(f"weight {wrong}", *path, "weight")
            weight = 1
        if code is not None:
            self._compiles(code, *path, "eval_code")
        return ScoringPoint(name, statement, float(weight or 1), code if isinstance(code, str) else None)

    def _compiles(self, code: Any, *path: str | int) -> None:
        if not isinstance(code, str) or not code.strip():
            self._wrong(f"eval_code must be Python code, not {describe(code)}; leave it out to have none", *path)
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
            self._wrong(f"eval_code does not compile: {detail}{where}{hint}", *path)
            return
        if not tree.body:
            self._wrong("eval_code checks nothing: it holds only comments", *path)

    def _script(self) -> tuple[Any, ...]:
        value = self.data.get("script")
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            self._wrong("script must be a list of messages", "script")
            return ()
        lines = []
        for index, item in enumerate(value):
            if isinstance(item, dict):
                self._known_keys(item, SCRIPT_KEYS, ("script", index))
            try:
                lines.append(read_script_line(item))
            except ScriptMistake as error:
                self._wrong(str(error), "script", index, *([error.key] if error.key else []))
        return tuple(lines)
