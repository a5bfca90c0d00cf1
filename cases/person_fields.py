"""Reads the fields of a case file that describe a person: `user`, `facts`, `insist`, `done_when`, `strategy`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

from viva.cases.person import CaseStrategy, DoneWhen, Insistence, User, UserFact, When
from viva.cases.plain_fields import PlainReader, is_number
from viva.cases.text import describe

USER_KEYS = tuple(field.name for field in fields(User))
FACT_KEYS = ("says", "when")
INSIST_KEYS = ("on", "times")
DONE_KEYS = ("content", "gives_up")
STRATEGY_KEYS = ("name", "goal")
CONDITIONS = get_args(When)
MAX_TIMES = 100
"""Maximum of `times`, of the number of a step, and of `patience`: more than any conversation has."""
_STEP = re.compile(r"\s*step\s*:?\s*(\d{1,9})\s*", re.IGNORECASE)
_WHEN = "when must be start, asked, never or step: N"


class PersonReader(PlainReader):
    """Reads the fields that describe a person. The short form of each is text, the long form a mapping."""

    def user(self, key: str) -> User | None:
        """Read the user: the text of a persona, or a mapping."""
        given = self._mapping_or_text(key, "persona", USER_KEYS)
        if given is None:
            return None
        patience = given.get("patience")
        if isinstance(patience, int) and not isinstance(patience, bool):
            count = self._count(given, key, "patience")
            given = {**given, "patience": _patience(count)}
        return User(**{name: self._text_of(given, key, name) for name in USER_KEYS})

    def facts(self, key: str) -> tuple[UserFact, ...]:
        """Read a list of facts, each of them text or a mapping with `says` and `when`."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            self.add_mistake(f"{key} must be a list of facts, not {describe(value)}", key)
            return ()
        return tuple(fact for index, item in enumerate(value) if (fact := self._fact(item, key, index)) is not None)

    def insist(self, key: str) -> Insistence | None:
        """Read what the user insists on."""
        given = self._mapping_or_text(key, "on", INSIST_KEYS)
        if given is None:
            return None
        return Insistence(self._required(given, key, "on"), self._count(given, key, "times"))

    def done_when(self, key: str) -> DoneWhen | None:
        """Read when the user stops."""
        given = self._mapping_or_text(key, "content", DONE_KEYS)
        if given is None:
            return None
        found = DoneWhen(self._text_of(given, key, "content"), self._text_of(given, key, "gives_up"))
        if given.get("content") is None and given.get("gives_up") is None:
            self.add_mistake(f"{key} requires content (what has to be reached), gives_up, or both", key)
        return found

    def strategy(self, key: str) -> CaseStrategy | None:
        """Read the strategy of an adversarial examiner."""
        given = self._mapping_or_text(key, "name", STRATEGY_KEYS)
        if given is None:
            return None
        if given and not given.keys() & set(STRATEGY_KEYS):
            self.add_mistake(f"{key} requires name, goal, or both", key)
        return CaseStrategy(self._text_of(given, key, "name"), self._text_of(given, key, "goal"))

    def _mapping_or_text(self, key: str, short: str, known: Sequence[str]) -> dict[Any, Any] | None:
        """Return a field's mapping; text stands for a mapping with the key `short` alone."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, str):
            if not value.strip():
                self.add_mistake(f"{key} is empty", key)
                return None
            return {short: value}
        if not isinstance(value, dict):
            wanted = f"{key} must be text or a mapping with {', '.join(known)}, not {describe(value)}"
            self.add_mistake(wanted + ("" if isinstance(value, list) else "; put text in quotes"), key)
            return None
        # YAML 1.1 reads the bare word `on` as true.
        value = {"on" if name is True and self._is_written(key, "on") else name: each for name, each in value.items()}
        self.check_keys(value, known, key)
        if not value:
            self.add_mistake(f"{key} is empty", key)
        return value

    def _is_written(self, key: str, name: str) -> bool:
        return any(self.lines.has(key, each) for each in (name, name.capitalize(), name.upper()))

    def _fact(self, item: Any, *path: str | int) -> UserFact | None:
        if isinstance(item, str) and item.strip():
            return UserFact(item)
        if not isinstance(item, dict):
            keys = ", ".join(FACT_KEYS)
            self.add_mistake(f"a fact must be text or a mapping with {keys}, not {describe(item)}", *path)
            return None
        self.check_keys(item, FACT_KEYS, *path)
        says = item.get("says")
        if not isinstance(says, str) or not says.strip():
            wrong = "is missing" if says is None else f"must be text, not {describe(says)}; put it in quotes"
            self.add_mistake(f"says {'is empty' if isinstance(says, str) else wrong}", *path, "says")
            says = ""
        when, step = self._when(item.get("when"), *path, "when")
        return UserFact(says, when, step)

    def _when(self, value: Any, *path: str | int) -> tuple[When, int | None]:
        """Read a condition: a word, `step 3`, or the mapping `step: 3`."""
        if value is None:
            return "asked", None
        if isinstance(value, dict):
            self.check_keys(value, ("step",), *path)
            number = value.get("step")
        else:
            match = _STEP.fullmatch(value) if isinstance(value, str) else None
            number = int(match[1]) if match else None
            word = value.strip().lower() if isinstance(value, str) else ""
            if word in CONDITIONS and word != "step":
                return word, None  # type: ignore[return-value]  # one of the literals of When
            if match is None:
                near = difflib.get_close_matches(word, CONDITIONS, 1, 0.5)
                hint = f"; did you mean {'step: N' if near[0] == 'step' else near[0]!r}?" if near else ""
                self.add_mistake(f"{_WHEN}, not {describe(value)}{hint}", *path)
                return "asked", None
        if not is_number(number) or not isinstance(number, int) or number > MAX_TIMES:
            self.add_mistake(f"step must be a whole number from 1 to {MAX_TIMES}, not {describe(number)}", *path)
            return "asked", None
        return "step", number

    def _required(self, given: dict[Any, Any], key: str, name: str) -> str:
        if given.get(name) is None:
            self.add_mistake(f"{key} requires {name!r}", key)
        return self._text_of(given, key, name) or ""

    def _text_of(self, given: dict[Any, Any], key: str, name: str) -> str | None:
        value = given.get(name)
        if value is None:
            if name in given:
                self.add_mistake(f"{name} of {key} is empty", key, name)
            return None
        if not isinstance(value, str):
            self.add_mistake(f"{name} of {key} must be text, not {describe(value)}; put it in quotes", key, name)
            return None
        if not value.strip():
            self.add_mistake(f"{name} of {key} is empty", key, name)
        return value

    def _count(self, given: dict[Any, Any], key: str, name: str) -> int | None:
        value = given.get(name)
        if value is None:
            return None
        if not is_number(value) or not isinstance(value, int) or value > MAX_TIMES:
            wanted = f"a whole number from 1 to {MAX_TIMES}"
            self.add_mistake(f"{name} of {key} must be {wanted}, not {describe(value)}", key, name)
            return None
        return value


def _patience(count: int | None) -> str:
    replies = "1 unhelpful reply" if count == 1 else f"{count} unhelpful replies in a row"
    return f"runs out after {replies}; then you say so and stop"
