"""Finds the screenshots of a session: by base name, in the session's own folder, and nowhere else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from viva.journal.images import MOST_BYTES, kind_of
from viva.recordings.desktop.lines import LineFields
from viva.recordings.desktop.names import ROLES, Names

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

    @property
    def attributes(self) -> dict[str, object]:
        """Return the attributes that a step or round keeps beside the names."""
        kept: dict[str, object] = {"image_roles": list(self.roles)} if self.roles else {}
        if self.missing:
            kept["images_missing"] = [f"{role}: {words}" for role, words in self.missing]
        return kept


@dataclass(slots=True)
class Screenshots:
    """Looks up pictures in one folder, and counts their faults."""

    folder: Path
    names: Names
    faults: Counter[str] = field(default_factory=Counter)
    """Maps each fault, in words, to the number of pictures that have it."""
    used: set[str] = field(default_factory=set)

    def of_step(self, line: LineFields, step: int | None, round_: int) -> Shots:
        """Return the pictures of a step: those that its line names, or else those with the usual names for its number.

        A picture that another step has is not taken by its usual name: steps may be numbered anew in each round.
        """
        found: dict[str, str] = {}
        for role in ROLES:
            named = line.picture(role)
            if named:
                found[role] = named
            elif named is None and step is not None:
                name = self._standard(role, step=step, round=round_)
                if name not in self.used and self._exists(name):
                    found[role] = name
        return self._look(found)

    def of_round(self, number: int) -> Shots:
        """Return the pictures taken at the end of a round and of its sub-rounds. They are optional."""
        names = [name for name in self._listed() if self._is_sub_round(name, number)]
        subs = sorted(names, key=lambda name: (len(name), name))
        final = self._standard("round_final", round=number)
        found = [("sub_round_final", name) for name in subs]
        return self._look_all([*found, *([("round_final", final)] if self._exists(final) else [])])

    def final(self) -> Shots:
        """Return the picture taken at the end of the session. If there is none, it counts as missing."""
        name = self._standard("final")
        return self._look({"final": name} if name else {})

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
            size = path.stat().st_size
            if size == 0:
                return "are empty"
            if size > MOST_BYTES:
                return "are too large"
            with path.open("rb") as file:
                kind = kind_of(file.read(32))
                file.seek(max(0, size - 16))
                tail = file.read()
        except (OSError, ValueError, RuntimeError):
            return "cannot be read"
        if kind is None:
            return "are not pictures"
        whole = {"png": b"IEND" in tail, "jpeg": b"\xff\xd9" in tail}
        return None if whole.get(kind, True) else "are cut off"

    def _exists(self, name: str) -> bool:
        return bool(name) and (self.folder / name).is_file()

    def _standard(self, role: str, **numbers: int) -> str:
        """Fill numbers into a file name of a mapping. `str.format` would let a mapping read attributes of objects."""
        name = self.names.files.get(role, "")
        for key, value in numbers.items():
            name = name.replace("{" + key + "}", str(value))
        return base_name(name)

    def _is_sub_round(self, name: str, number: int) -> bool:
        pattern = re.escape(self._standard("sub_round_final", round=number)).replace(re.escape("{sub}"), r"\d{1,9}")
        return re.fullmatch(pattern, name) is not None

    def _listed(self) -> list[str]:
        try:
            return [path.name for path in self.folder.iterdir() if _LOOKS_LIKE_A_PICTURE.fullmatch(path.name)]
        except OSError:
            return []


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
            inside = path.resolve().is_relative_to(folder.resolve())
            sound = inside and path.is_file() and path.stat().st_size <= MOST_BYTES
            return path.read_bytes() if sound else None
        except (OSError, ValueError, RuntimeError):
            return None

    return read
