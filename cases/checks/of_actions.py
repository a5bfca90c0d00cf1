"""Reads the checks that are about what the agent did: tools, steps, files, and figures of the conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from viva.cases.checks.data import (
    ActionCheck,
    CheckRange,
    Figure,
    FileCheck,
    JsonCheck,
    LimitCheck,
    StateCheck,
    StepsCheck,
    ToolCheck,
    ToolOrderCheck,
    ToolShareCheck,
)
from viva.cases.checks.of_texts import TextChecks
from viva.cases.checks.plain import Path, is_plain_number
from viva.cases.plain_fields import nearest
from viva.cases.text import describe, number_text

RECORDERS = ("agent", "environment")
STEP_KINDS = ("tool", "model", "think", "action", "agent")
NAME = 200
"""Maximum number of characters of a tool's name."""


class ActionChecks(TextChecks):
    """Reads checks of what the agent did."""

    def tool_called(self, value: Any, path: Path) -> ActionCheck | None:
        """Read `tool_called`: the name of a tool, or a mapping with `name`, `arguments`, `times` and more."""
        options = value if isinstance(value, Mapping) else {"name": value}
        self.keys(options, ("name", "arguments", "exact", "times", "recorded_by"), path)
        name = self._tool(options.get("name"), (*path, "name") if value is options else path)
        arguments = options.get("arguments")
        if arguments is not None and not isinstance(arguments, Mapping):
            self.fault(f"arguments must be a mapping, not {describe(arguments)}", *path, "arguments")
        exact = self.flag(options, "exact", path)
        if exact and arguments is None:
            self.fault("exact has no effect without arguments; an empty mapping stands for none", *path, "exact")
        times = CheckRange(1)
        if options.get("times") is not None:
            times = self.counts(options["times"], (*path, "times")) or times
        environment = self._environment(options, path)
        if name is None:
            return None
        return ToolCheck(
            name=name,
            arguments=None if arguments is None else self.json(arguments, (*path, "arguments")),
            exact=exact,
            times=times,
            environment=environment,
        )

    def tool_order(self, value: Any, path: Path) -> ActionCheck | None:
        """Read `tool_order`: a list of tools, or a mapping with `tools` and `exact`."""
        options, tools = self._tools(value, path, "exact")
        exact, environment = self.flag(options, "exact", path), self._environment(options, path)
        return ToolOrderCheck(tools=tools, exact=exact, environment=environment) if tools else None

    def tool_f1(self, value: Any, path: Path) -> ActionCheck | None:
        """Read `tool_f1`: a list of tools, or a mapping with `tools` and `at_least`."""
        options, tools = self._tools(value, path, "at_least")
        at_least = self.number(options, "at_least", path, least=0)
        if at_least is not None and at_least > 1:
            self.fault(f"at_least must be a number from 0 to 1, not {number_text(at_least)}", *path, "at_least")
        environment = self._environment(options, path)
        share = 1.0 if at_least is None else at_least
        return ToolShareCheck(tools=tools, at_least=share, environment=environment) if tools else None

    def steps(self, value: Any, path: Path) -> ActionCheck | None:
        """Read `steps`: how many, or a mapping with `min`, `max` and `kind`."""
        if not isinstance(value, Mapping):
            allowed = self.counts(value, path)
            return None if allowed is None else StepsCheck(allowed=allowed)
        self.keys(value, ("min", "max", "kind", "recorded_by"), path)
        kind = value.get("kind") or ""
        if kind and kind not in STEP_KINDS:
            hint = nearest(str(kind), STEP_KINDS)
            self.fault(f"kind must be one of {', '.join(STEP_KINDS)}, not {describe(kind)}; {hint}", *path, "kind")
            kind = ""
        allowed = self.between(self.count(value, "min", path), self.count(value, "max", path), path)
        environment = self._environment(value, path)
        return None if allowed is None else StepsCheck(allowed=allowed, kind=str(kind), environment=environment)

    def limit(self, figure: Figure) -> Callable[[Any, Path], ActionCheck | None]:
        """Return the reader of a limit of a figure."""

        def read(value: Any, path: Path) -> ActionCheck | None:
            whole = figure == "rounds"
            if not is_plain_number(value, 0) or (whole and not isinstance(value, int)):
                number = "a whole number" if whole else "a number"
                self.fault(f"{path[-1]} must be {number} from 0, not {describe(value)}", *path)
                return None
            return LimitCheck(figure=figure, most=float(value))

        return read

    def file(self, value: Any, path: Path) -> FileCheck | None:
        """Read `file`: a path, or a mapping with `path`, `exists`, and checks of what it holds."""
        options = value if isinstance(value, Mapping) else {"path": value}
        readers = self.text_readers()
        self.keys(options, ("path", "exists", *readers), path)
        name = self.text(options.get("path"), (*path, "path") if value is options else path)
        if name is not None and (wrong := _wrong_place(name)) is not None:
            self.fault(f"file {describe(name)} {wrong}; write the path in the agent's workspace", *path)
        exists = self.flag(options, "exists", path, default=True)
        asked = [(key, readers[key](each, (*path, key))) for key, each in options.items() if key in readers]
        if asked and not exists:
            self.fault(f"a file that does not exist holds nothing: remove exists or {asked[0][0]}", *path)
        checks = tuple(check for _, check in asked if check is not None)
        return None if name is None else FileCheck(path=name, exists=exists, checks=checks)

    def state(self, value: Any, path: Path) -> StateCheck | None:
        """Read `state`: a mapping with `path`, `equals` and `schema`, as in `json`."""
        if not isinstance(value, Mapping) or not value:
            self.fault(f"state must be a mapping with path, equals or schema, not {describe(value)}", *path)
            return None
        self.keys(value, ("path", "equals", "schema"), path)
        content = self.json_in(value, path)
        return StateCheck(content=content) if isinstance(content, JsonCheck) else None

    def _tool(self, value: Any, path: Path) -> str | None:
        name = self.text(value, path)
        if name is not None and len(name) > NAME:
            self.fault(f"a tool's name has at most {NAME} characters", *path)
        return name

    def _tools(self, value: Any, path: Path, more: str) -> tuple[Mapping[Any, Any], tuple[str, ...]]:
        options = value if isinstance(value, Mapping) else {"tools": value}
        self.keys(options, ("tools", more, "recorded_by"), path)
        place = (*path, "tools") if value is options else path
        if options.get("tools") is None:
            self.fault(f"{path[-1]} needs tools: a list of names", *path)
            return options, ()
        return options, self.texts(options["tools"], place)

    def _environment(self, options: Mapping[Any, Any], path: Path) -> bool:
        by = options.get("recorded_by")
        if by is not None and by not in RECORDERS:
            hint = nearest(str(by), RECORDERS)
            self.fault(f"recorded_by must be agent or environment, not {describe(by)}; {hint}", *path, "recorded_by")
        return by == "environment"


def _wrong_place(name: str) -> str | None:
    if "\0" in name:
        return "holds a NUL character"
    if os.path.isabs(name) or name.startswith("~") or "\\" in name:
        return "is not relative, with / between folders"
    parts = os.path.normpath(name).split("/")
    return "leaves the workspace" if ".." in parts else "is the workspace itself" if parts == ["."] else None
