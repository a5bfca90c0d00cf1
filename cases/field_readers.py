"""Reads the fields of a case file, each with the reader that its declaration in `cases/case.py` names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from viva.cases.case import READER, STATE, Case, ScriptLine
from viva.cases.check_limits import ALLOWED, CheckLimits
from viva.cases.data_files import copied_to, data_file_fault
from viva.cases.given_turns import TURN_KEYS, GivenTurn, TurnMistake, order_mistake, read_turn
from viva.cases.many.sources import FAMILY_KEYS
from viva.cases.mcp_servers.reader import ServersReader
from viva.cases.points.reader import PointReader
from viva.cases.script import SCRIPT_KEYS, ScriptMistake, read_script_line
from viva.cases.solution import SOLUTION_KEYS, SolutionMistake, SolutionReply, read_solution_reply
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers


def case_keys(kind: type[Case]) -> tuple[str, ...]:
    """Return the keys of a case file: the names of the fields that have a reader."""
    return tuple(field.name for field in fields(kind) if READER in field.metadata)


LIMIT_KEYS = tuple(field.name for field in fields(CheckLimits))

TASK_OF_SCRIPT = "Send the agent these messages, one after the other:"
"""How the task of a case begins that has only a script."""


def _said(script: Any) -> Iterator[str]:
    """Yield the messages of a script that may be wrong, those for conditions included."""
    for item in script if isinstance(script, list) else ():
        words = item.get("say") if isinstance(item, dict) else item
        condition = item.get("if_agent_says") if isinstance(item, dict) else None
        yield f"(if the agent says {condition!r}) {words}" if condition else f"{words}"


class CaseReader(PointReader, ServersReader):
    """Reads one case file. What `read` returns may be used only if `mistakes` is empty afterwards."""

    def __init__(self, data: dict[Any, Any], lines: LineNumbers, file: Path, kind: type[Case] = Case) -> None:
        super().__init__(data, lines)
        self.file = file
        self.kind = kind

    def read(self) -> dict[str, Any]:
        """Return the fields of a Case, except for those that say where it is."""
        self.check_keys(self.data, (*case_keys(self.kind), *FAMILY_KEYS))
        found = {}
        for field in fields(self.kind):
            if READER in field.metadata:
                reader, options = field.metadata[READER]
                found[field.name] = getattr(self, reader)(field.name, **options)
        return found | ({"point_groups": self.groups} if self.groups else {})

    def version(self, key: str) -> str | None:
        """Read a version, which may be written as a number."""
        return None if self.data.get(key) is None else str(self.data[key])

    def task(self, key: str) -> str | None:
        """Read the task; a case with a script needs none, because its messages say what the user wants."""
        if self.data.get(key) is None and self.data.get("script") and key not in self.data:
            return TASK_OF_SCRIPT + "".join(f"\n- {words}" for words in _said(self.data["script"]))
        return self.text(key, required=True)

    def requirements(self, key: str) -> tuple[str, ...]:
        """Read a list of PEP 508 requirements."""
        names = self.indexed_texts(key)
        for index, name in names.items():
            try:
                Requirement(name)
            except InvalidRequirement as error:
                reason = str(error).splitlines()[0]
                self.add_mistake(f"dependency {name!r} is not a requirement (PEP 508): {reason}", key, index)
        return tuple(names.values())

    def data_files(self, key: str) -> tuple[str, ...]:
        """Read a list of files and folders inside the case folder."""
        names = self.indexed_texts(key)
        copies: dict[str, str] = {}
        for index, name in names.items():
            fault = data_file_fault(self.file, name)
            if fault is None:
                other = copies.setdefault(copied_to(self.file, name), name)
                fault = None if other == name else f"would be copied over {describe(other)}"
            if fault is not None:
                self.add_mistake(f"data file {describe(name)} {fault}", key, index)
        return tuple(names.values())

    def check_limits(self, key: str) -> CheckLimits:
        """Read a mapping of limits, each within the range that it has for cases."""
        limits = self.mapping(key) or {}
        self.check_keys(limits, LIMIT_KEYS, key)
        found = {}
        for field in fields(CheckLimits):
            value, allowed = limits.get(field.name), field.metadata[ALLOWED]
            if value is None:
                continue
            if allowed.holds(value):
                found[field.name] = value
            else:
                self.add_mistake(f"{field.name} must be {allowed}, not {describe(value)}", key, field.name)
        return CheckLimits(**found)

    def script(self, key: str) -> tuple[ScriptLine, ...]:
        """Read the examiner's messages."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            self.add_mistake(f"{key} must be a list of messages", key)
            return ()
        lines = []
        for index, item in enumerate(value):
            if isinstance(item, dict):
                self.check_keys(item, SCRIPT_KEYS, key, index)
            try:
                lines.append(read_script_line(item))
            except ScriptMistake as error:
                self.add_mistake(str(error), key, index, *([error.key] if error.key else []))
        return tuple(lines)

    def conversation(self, key: str) -> tuple[GivenTurn, ...]:
        """Read the turns of a conversation already begun."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            self.add_mistake(f"{key} must be a list of turns", key)
            return ()
        turns = []
        for index, item in enumerate(value):
            if isinstance(item, dict):
                self.check_keys(item, TURN_KEYS, key, index)
            try:
                turns.append(read_turn(item))
            except TurnMistake as error:
                self.add_mistake(str(error), key, index, *([error.key] if error.key else []))
        if len(turns) == len(value) and (wrong := order_mistake(turns)) is not None:
            self.add_mistake(wrong[1], key, wrong[0])
        return tuple(turns)

    def state(self, key: str) -> dict[str, Any]:
        """Read the state with which the agent begins; `config_var` must not have one, too."""
        found = self.metadata(key)
        config = self.data.get("config_var")
        if found and isinstance(config, dict) and STATE in config:
            self.add_mistake("config_var has a state, too: the agent is given one of them; remove the other", key)
        return found

    def solution(self, key: str) -> tuple[SolutionReply, ...]:
        """Read the replies of the solution; a single text counts as a list of one."""
        value = self.data.get(key)
        if value is None:
            return ()
        several = [value] if isinstance(value, str | dict) else value
        if not isinstance(several, list) or not several:
            self.add_mistake(f"{key} must be a list of replies", key)
            return ()
        replies = []
        for index, item in enumerate(several):
            if isinstance(item, dict):
                self.check_keys(item, SOLUTION_KEYS, key, index)
            try:
                replies.append(read_solution_reply(item))
            except SolutionMistake as error:
                self.add_mistake(str(error), key, index, *([error.key] if error.key else []))
        return tuple(replies)
