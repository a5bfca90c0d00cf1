"""Finds the screenshots of a session: by base name, in the session's own folder, and nowhere else."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.journal.images import MOST_BYTES, kind_of
from viva.recordings.desktop.lines import LineFields
from viva.recordings.desktop.names import ROLES, Names
from viva.regular_files import in_words, open_linked

_NUMBER = re.compile(r"\d+")
_LOOKS_LIKE_A_PICTURE = re.compile(r".+\.(?:png|jpe?g|gif|webp)", re.I)


@dataclass(frozen=True, slots=True)
class Shots:
    """The pictures of a step, of a round, or of the end of a session."""

    names: tuple[str, ...] = ()
    """Base names of the files in the folder."""
    roles: tuple[str, ...] = ()
    """What each picture shows, in the same order."""
    missing: tuple[tuple[str, str], ...] = ()
    """The role and name of each picture with a fault, and the fault in words."""
    not_taken: tuple[tuple[str, str], ...] = ()
    """The role and path of each picture that the session was not set to take."""

    @property
    def attributes(self) -> dict[str, object]:
        """Return the attributes that a step or round keeps beside the names."""
        kept: dict[str, object] = {"image_roles": list(self.roles)} if self.roles else {}
        if self.missing:
            kept["images_missing"] = [f"{role}: {words}" for role, words in self.missing]
        if self.not_taken:
            kept["images_not_taken"] = [f"{role}: {path}" for role, path in self.not_taken]
        return kept


@dataclass(slots=True)
class Screenshots:
    """Looks up pictures in one folder, and counts their faults."""

    folder: Path
    names: Names
    faults: Counter[str] = field(default_factory=Counter)
    """Maps each fault, in words, to the number of pictures that have it."""
    used: set[str] = field(default_factory=set)
    _names: dict[str, None] | None = None
    """The names of all pictures in the folder, once it has been read: a session may have thousands of rounds."""
    _sub_rounds: dict[str, list[str]] | None = None
    _kinds: set[str] | None = None
    """The names of the pictures in the folder, with 0 for each number."""

    def of_step(self, line: LineFields, step: int | None, round_: int) -> Shots:
        """Return the pictures of a step: those that its line names, or else those with the usual names for its number.

        A picture that another step has is not taken by its usual name: steps may be numbered anew in each round. One
        that UFO takes on demand only is not missing if the folder has none of its kind.
        """
        found: dict[str, str] = {}
        not_taken = []
        for role in ROLES:
            named = line.picture(role)
            if named and role in self.names.on_demand and not self._has_kind(base_name(named)):
                not_taken.append((role, named[:200]))
            elif named:
                found[role] = named
            elif named is None and step is not None:
                name = self._standard(role, step=step, round=round_)
                if name not in self.used and self._exists(name):
                    found[role] = name
        return replace(self._look(found), not_taken=tuple(not_taken))

    def of_round(self, number: int) -> Shots:
        """Return the pictures taken at the end of a round and of its sub-rounds. They are optional."""
        subs = sorted(self._of_sub_rounds().get(str(number), ()), key=lambda name: (len(name), name))
        final = self._standard("round_final", round=number)
        found = [("sub_round_final", name) for name in subs]
        return self._look_all([*found, *([("round_final", final)] if self._exists(final) else [])])

    def final(self, *, expected: bool = True) -> Shots:
        """Return the picture taken at the end of the session. If it is expected and not there, it counts as missing."""
        name = self._standard("final")
        return self._look({"final": name} if self._exists(name) or (name and expected) else {})

    @property
    def unused(self) -> list[str]:
        """Return the pictures in the folder that no line of the log refers to."""
        return sorted(name for name in self._listed() if name not in self.used)

    def _look(self, found: Mapping[str, str]) -> Shots:
        return self._look_all(list(found.items()))

    def _look_all(self, found: list[tuple[str, str]]) -> Shots:
        names, roles, missing = [], [], []
        for role, path in found:
            name = base_name(path)
            fault = self._fault(name)
            if fault is None:
                names.append(name)
                roles.append(role)
                self.used.add(name)
                continue
            self.faults[fault] += 1
            if fault == "are cut off":
                # What is left of it is kept; a viewer may still be able to show it.
                names.append(name)
                roles.append(role)
                self.used.add(name)
            missing.append((role, f"{path[:200]} {_one_of(fault)}"))
        return Shots(tuple(names), tuple(roles), tuple(missing))

    def _fault(self, name: str) -> str | None:
        """Return what is wrong with a picture, or None if it can be kept."""
        path = self.folder / name
        try:
            if name in ("", ".", "..") or not path.is_file():
                return "are missing"
            if not path.resolve().is_relative_to(self.folder.resolve()):
                return "lead out of the folder"
            with open_linked(path) as file:
                size = os.fstat(file.fileno()).st_size
                if size == 0:
                    return "are empty"
                if size > MOST_BYTES:
                    return f"are larger than {in_words(MOST_BYTES)}"
                kind = kind_of(file.read(32))
                file.seek(max(0, size - 16))
                tail = file.read()
        except (OSError, ValueError, RuntimeError):
            return "cannot be read"
        if kind is None:
            return "are not pictures"
        whole = {"png": b"IEND" in tail, "jpeg": b"\xff\xd9" in tail}
        return None if whole.get(kind, True) else "are cut off"

    def _has_kind(self, name: str) -> bool:
        """Return whether the folder has a picture whose name differs from this one in nothing but numbers."""
        if self._kinds is None:
            self._kinds = {_NUMBER.sub("0", each) for each in self._listed()}
        return _NUMBER.sub("0", name) in self._kinds

    def _exists(self, name: str) -> bool:
        return bool(name) and (self.folder / name).is_file()

    def _standard(self, role: str, **numbers: int) -> str:
        """Fill numbers into a file name of a mapping. `str.format` would let a mapping read attributes of objects."""
        name = self.names.files.get(role, "")
        for key, value in numbers.items():
            name = name.replace("{" + key + "}", str(value))
        return base_name(name)

    def _of_sub_rounds(self) -> dict[str, list[str]]:
        """Return the pictures of sub-rounds by the number of their round, which is in their names."""
        if self._sub_rounds is None:
            self._sub_rounds = {}
            pattern = re.escape(self._standard("sub_round_final")).replace(re.escape("{sub}"), r"\d{1,9}")
            # The first place holds the number, and any further one must hold the same.
            pattern = pattern.replace(re.escape("{round}"), r"(?P<round>\d{1,9})", 1)
            form = re.compile(pattern.replace(re.escape("{round}"), "(?P=round)"))
            for name in self._listed():
                if (found := form.fullmatch(name)) is not None and "round" in form.groupindex:
                    self._sub_rounds.setdefault(found["round"], []).append(name)
        return self._sub_rounds

    def _listed(self) -> Iterable[str]:
        if self._names is None:
            self._names = {}
            with contextlib.suppress(OSError):
                names = (path.name for path in self.folder.iterdir())
                self._names = dict.fromkeys(name for name in names if _LOOKS_LIKE_A_PICTURE.fullmatch(name))
        return self._names


def base_name(path: str) -> str:
    """Return the last part of a path, with either kind of separator."""
    return re.split(r"[\\/]", path)[-1]


def _one_of(fault: str) -> str:
    plural = {"are": "is", "lead": "leads"}
    verb, _, rest = fault.partition(" ")
    return f"{plural.get(verb, verb)} {rest.replace('pictures', 'picture')}"


def pictures_in(folder: Path) -> Callable[[str], bytes | None]:
    """Return a function that reads the pictures of a folder by base name. It reads nothing outside the folder."""

    def read(name: str) -> bytes | None:
        path = folder / base_name(name)
        try:
            if not path.resolve().is_relative_to(folder.resolve()):
                return None
            with open_linked(path) as file:
                content = file.read(MOST_BYTES + 1)
            return content if len(content) <= MOST_BYTES else None
        except (OSError, ValueError, RuntimeError):
            return None

    return read
