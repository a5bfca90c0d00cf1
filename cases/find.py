"""Finds cases: by path, or by name among the bundled ones."""

from __future__ import annotations

import codecs
import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from viva.cases.errors import CaseError
from viva.cases.many.references import SUFFIXES, split_reference
from viva.cases.text import describe
from viva.cases.yaml.lines import MAX_BYTES

BUNDLED = Path(__file__).parent
REQUIRED = ("task_description", "scoring_points")
"""The keys that only cases have."""
SHARED = "cases"
"""The key of a file that holds several cases. Files of other tools have it, too, but no scoring points."""
MISSPELT = 0.84
"""How similar a key must be to one of these to count as that key misspelt: `score_points` is, `description` is not."""
MAX_KEYS = 1000
_KEY = re.compile(
    r"""^(?:\{[ \t]{0,8})?(?P<indent>[ ]{0,40})["']?(?P<key>[^\W\d][\w -]{0,60}?)["']?[ \t]{0,8}:(?:\s|$)""",
    re.MULTILINE,
)
"""A key at the start of a line, in either style of YAML. Bounded, so that no file makes the search slow."""
_IN_ONE_LINE = re.compile(rf"""[{{,]\s{{0,40}}["']?(?:{"|".join(REQUIRED)})["']?[ \t]{{0,8}}:""")
"""One of these keys in a file that is one mapping in braces, as programs write it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder below a named path that holds YAML files, but no case; or one that cannot be read."""

    folder: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.folder}: skipped: {self.reason}"


def bundled() -> list[str]:
    """Return the names of the cases that come with Viva, sorted."""
    return sorted(folder.name for folder in BUNDLED.iterdir() if _is_case(folder))


def find_case(name: str) -> Path:
    """Return the folder or the file of a case, which is given as a path or as the name of a bundled case.

    Of one of several cases in a file (`FILE#NAME`), the result names the case, too, as `load_case` expects it.

    Raises:
        CaseError: there is neither; the message offers the nearest name.
    """
    path = Path(name)
    if _is_case(path) or (path.suffix.lower() in SUFFIXES and os.path.isfile(path)):
        return path
    if name in bundled():
        return BUNDLED / name
    if os.path.isfile(path) or split_reference(name).entry or split_reference(name).row:
        return path
    if os.path.isdir(path):
        several = any(_is_case(folder) for folder in _entries(path))
        hint = f". To test with the cases in it: viva suite {name}" if several else ""
        raise CaseError(path, [f"holds no YAML file; a case is a folder with exactly one{hint}"])
    here = [folder.name for folder in _entries(Path()) if _is_case(folder)]
    near = difflib.get_close_matches(name, [*bundled(), *here], 1, 0.4)
    hint = f"Did you mean {near[0]!r}?" if near else f"Bundled: {', '.join(bundled())}."
    raise CaseError(name, [f"there is no such case. {hint} A path to a case folder works too."])


def find_cases(path: Path, skipped: list[Skipped] | None = None) -> Iterator[Path]:
    """Yield all case folders, and all files of several cases, at or below `path` in the order of their names, each
    once, even if several links lead to it.

    Args:
        path: A case, or a folder of cases.
        skipped: Receives the folders on the way that hold YAML files without being a case, and why.

    Raises:
        CaseError: `path` does not exist.
    """
    if not os.path.exists(path):
        raise CaseError(path, ["there is no such folder"])
    yield from _below(path, set(), [] if skipped is None else skipped)


def case_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder, without hidden ones, in the order of their names."""
    return [
        file
        for file in _entries(folder)
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(".") and file.is_file()
    ]


def looks_like_a_case(file: Path) -> bool:
    """Return whether a YAML file has a key that hardly any file but a case has. Those of models or CI do not count."""
    return _looks(file)[0]


def cases_at(file: Path) -> Path:
    """Return what is loaded for a YAML file: its folder, in which it must be alone, or itself if it holds several."""
    return file if _looks(file)[1] else file.parent


def _looks(file: Path) -> tuple[bool, bool]:
    """Return whether a YAML file looks like one of cases, and whether it holds them under `cases:`."""
    try:
        text = _start_of(file)
    except OSError:
        return True, False  # so that the loader reports why it cannot be read
    keys = _keys_of(text)
    several = SHARED in keys and REQUIRED[-1] in text
    in_braces = text.lstrip().startswith("{") and _IN_ONE_LINE.search(text) is not None
    return several or in_braces or any(_is_required(_plain(key)) for key in keys), several


def _is_required(key: str) -> bool:
    """Return whether a key is one that only cases have, spelt right or wrong; `my_task_description` is not."""
    near = difflib.get_close_matches(key, REQUIRED, 1, MISSPELT)
    return bool(near) and key[0] == near[0][0]


def _start_of(file: Path) -> str:
    with file.open("rb") as stream:
        start = stream.read(MAX_BYTES)
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return start.decode("utf-16" if wide else "utf-8-sig", "replace")


def _keys_of(text: str) -> list[str]:
    """Return the keys at the top of a YAML file as far as they can be seen without parsing it: that takes longer."""
    found = _KEY.finditer(text)
    first = next(found, None)
    if first is None:
        return []
    others = (match["key"] for match in found if match["indent"] == first["indent"])
    return list(dict.fromkeys([first["key"], *islice(others, MAX_KEYS)]))


def _plain(key: str) -> str:
    return key.lower().replace("-", "_").replace(" ", "_")


def _below(path: Path, seen: set[str], skipped: list[Skipped]) -> Iterator[Path]:
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    if path.is_file():
        yield path
        return
    files = case_files(path)
    looks = {file: _looks(file) for file in files}
    cases = [file for file, (is_case, _) in looks.items() if is_case]
    if cases and not all(looks[file][1] for file in cases):
        yield path
        return
    yield from cases
    reason = None if cases else _reason(path, files)
    if reason is not None:
        skipped.append(Skipped(path, reason))
    for folder in _entries(path):
        if folder.is_dir() and not folder.name.startswith("."):
            yield from _below(folder, seen, skipped)


def _reason(folder: Path, files: list[Path]) -> str | None:
    """Return why a folder that is not a case is worth mentioning; None if it only holds folders or other files."""
    wanted = " nor ".join(REQUIRED)
    if len(files) == 1:
        try:
            keys = _keys_of(_start_of(files[0]))
        except OSError as error:
            return f"{files[0].name} cannot be read: {error.strerror}"
        known = f"its keys are {', '.join(map(describe, keys[:6]))}" if keys else "it has no keys"
        return f"{files[0].name} has neither {wanted} ({known}{', …' if len(keys) > 6 else ''})"
    if files:
        return f"none of its {len(files)} YAML files has {' or '.join(REQUIRED)}"
    try:
        os.scandir(folder).close()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return None


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder, sorted; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_case(folder: Path) -> bool:
    return os.path.isdir(folder) and bool(case_files(folder))
