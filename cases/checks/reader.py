"""Reads the `check` of a scoring point: one kind, or several that are combined by `all`, `any` and `not`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, get_args

from viva.cases.checks.data import (
    AnyCheck,
    CheckNode,
    CheckScope,
    CombinedCheck,
    FileCheck,
    LimitCheck,
    NegatedCheck,
    Where,
)
from viva.cases.checks.of_actions import ActionChecks
from viva.cases.checks.plain import CheckParts, Path
from viva.cases.plain_fields import nearest
from viva.cases.text import describe

OVER = "over"
COMBINING = ("all", "any", "not")
KINDS = (
    "contains", "not_contains", "equals", "starts_with", "ends_with", "regex", "number", "json", "file", "state",
    "tool_called", "tool_order", "tool_f1", "steps", "similar", "words",
    "rounds_at_most", "seconds_at_most", "cost_at_most",
)  # fmt: skip
KEYS = (*KINDS, *COMBINING, OVER)
PLACES = tuple(each for each in get_args(Where) if each != "round")
MOST_CHECKS = 100
"""Maximum number of checks in one, those inside of others included."""
DEEPEST = 10
"""Maximum depth of checks inside of others."""


class CheckMistake(ValueError):
    """A check cannot be read. `faults` holds every message with its path within the check."""

    def __init__(self, faults: list[tuple[str, Path]]) -> None:
        super().__init__("; ".join(message for message, _ in faults))
        self.faults = tuple(faults)


def read_check(value: Any) -> CheckNode:
    """Read a check as it stands in a case file.

    Raises:
        CheckMistake: it is not sound.
    """
    reader = _CheckReader()
    found = reader.node(value, ())
    if reader.faults or found is None:
        raise CheckMistake(reader.faults)
    return found


def stored_form(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a sound check as JSON holds it, so that it is the same in a case file and in a journal."""
    plain: dict[str, Any] = CheckParts().json(value, ())
    return plain


def check_of(form: Mapping[str, Any]) -> CheckNode:
    """Return the check of a scoring point, which a journal may hold that was written by others.

    Raises:
        CheckMistake: this version does not know it.
    """
    try:
        return _read_text(json.dumps(form, sort_keys=False))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, CheckMistake):
            raise
        raise CheckMistake([(f"it is not JSON: {error}", ())]) from error


@lru_cache(maxsize=4096)
def _read_text(text: str) -> CheckNode:
    return read_check(json.loads(text))


class _CheckReader(ActionChecks):
    """Reads checks, and those inside of them."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._kinds: dict[str, Callable[[Any, Path], AnyCheck | None]] = {
            **self.text_readers(),
            "file": self.file,
            "state": self.state,
            "tool_called": self.tool_called,
            "tool_order": self.tool_order,
            "tool_f1": self.tool_f1,
            "steps": self.steps,
            "rounds_at_most": self.limit("rounds"),
            "seconds_at_most": self.limit("seconds"),
            "cost_at_most": self.limit("cost"),
        }

    def node(self, value: Any, path: Path, level: int = 1) -> CheckNode | None:
        """Read one check, which may hold others."""
        self._count += 1
        if self._count == MOST_CHECKS + 1:
            self.fault(f"holds more than {MOST_CHECKS} checks, the maximum", *path)
        if self._count > MOST_CHECKS or level > DEEPEST:
            if level > DEEPEST:
                self.fault(f"checks are nested deeper than {DEEPEST} levels", *path)
            return None
        if not isinstance(value, Mapping):
            words = "a check must be a mapping with one kind, such as contains"
            self.fault(f"{words}, not {describe(value)}", *path)
            return None
        self.keys(value, KEYS, path)
        given = [key for key in value if key in KEYS and key != OVER]
        if len(given) != 1:
            known = ", ".join((*KINDS, *COMBINING))
            words = f"a check has one kind, and this has {', '.join(map(str, given))}: combine them with all or any"
            if given or all(key == OVER for key in value):  # otherwise, a misspelt kind is reported
                self.fault(words if given else f"a check needs a kind: {known}", *path)
            return None
        kind = str(given[0])
        over = self._over(value[OVER], (*path, OVER)) if value.get(OVER) is not None else None
        check: AnyCheck | None
        if kind in ("all", "any"):
            check = self._combined(value[kind], (*path, kind), kind, level)
        elif kind == "not":
            inner = self.node(value[kind], (*path, kind), level + 1)
            check = None if inner is None else NegatedCheck(check=inner)
        else:
            check = self._kinds[kind](value[kind], (*path, kind))
        if over is not None and (
            isinstance(check, FileCheck) or (isinstance(check, LimitCheck) and check.figure == "rounds")
        ):
            self.fault(f"over has no effect on {kind}: remove it", *path, OVER)
        return None if check is None else CheckNode(check, over)

    def _combined(self, value: Any, path: Path, needs: str, level: int) -> AnyCheck | None:
        if not isinstance(value, list) or not value:
            self.fault(f"{needs} must be a list of checks, not {describe(value)}", *path)
            return None
        found = [self.node(each, (*path, index), level + 1) for index, each in enumerate(value)]
        checks = tuple(each for each in found if each is not None)
        return CombinedCheck(needs="all" if needs == "all" else "any", checks=checks)

    def _over(self, value: Any, path: Path) -> CheckScope | None:
        if isinstance(value, Mapping):
            self.keys(value, ("round",), path)
            number = value.get("round")
            if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= 1_000_000:
                return CheckScope("round", number)
            self.fault(f"round must be the number of a round, from 1, not {describe(number)}", *path)
            return None
        if value not in PLACES:
            words = f"over must be one of {', '.join(PLACES)}, or round: N"
            self.fault(f"{words}, not {describe(value)}; {nearest(str(value), PLACES)}", *path)
            return None
        return CheckScope(value)
