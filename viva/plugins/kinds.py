"""Finds parts that can be added to Viva by name, import string or entry point, and imports them when they are used.

Connectors, readers, evaluators, sinks and report formats are all found in this way; the modules that use a part define
what it must provide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viva.plugins.import_strings import PluginError, import_string, in_words, is_path, nearest, raised_at
from viva.plugins.old_names import hint_about

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN = "built-in"
_IMPORT_STRING = re.compile(r"(?P<part>[^:]+:[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::(?P<rest>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of part."""

    noun: str
    """Singular, for messages: `connector`."""
    group: str
    """The entry point group in which distributions declare their parts: `viva.connectors`."""
    builtin: Mapping[str, str]
    """Import strings of the built-in parts, by name."""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part that is available by name. It has not been imported."""

    name: str
    where: str
    """`built-in`, or the name and version of the distribution that provides it."""
    target: str
    """The import string."""


def load(kind: Kind, part: str) -> Any:
    """Import a part.

    Args:
        kind: The kind of the part.
        part: A built-in name, an import string (`package.module:Thing`, `path/to/file.py:Thing`), or the name of an
            entry point. Its code may import from the folder of such a file and from the current folder.

    Raises:
        PluginError: there is no such part, two distributions declare it, or it cannot be imported.
    """
    if part in kind.builtin:
        return import_string(kind.builtin[part])
    if _IMPORT_STRING.fullmatch(part):
        return _load_string(kind, part)
    return _load_entry_point(kind, part)


def split(kind: Kind, spec: str) -> tuple[str, str]:
    """Split `PART` or `PART:REST`, where `PART` is a name or an import string.

    Entry points are searched only if `a:b` is ambiguous: a name and the rest, or a module and an attribute.

    Returns:
        The argument of `load`, and the rest, which may be empty.
    """
    name, _, rest = spec.partition(":")
    match = _IMPORT_STRING.fullmatch(spec)
    if name in kind.builtin or match is None:
        return name, rest
    if not is_path(name) and is_announced(kind, name):
        return name, rest
    return match["part"], match["rest"] or ""


def is_announced(kind: Kind, name: str) -> bool:
    """Return whether an installed distribution declares a part of this name."""
    return any(point.name == name for point in _entry_points(kind))


def names(kind: Kind) -> list[FoundPart]:
    """Return the parts that are available by name, without importing them."""
    found = [FoundPart(name, BUILT_IN, target) for name, target in kind.builtin.items()]
    for point in sorted(_entry_points(kind), key=lambda point: point.name):
        where = _distribution(point)
        if point.name in kind.builtin:
            where += ", hidden by the built-in one"
        found.append(FoundPart(point.name, where, point.value))
    return found


def _load_string(kind: Kind, part: str) -> Any:
    source = part.rpartition(":")[0]
    try:
        return import_string(part)
    except PluginError as error:
        missing = isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == source
        if missing and not is_path(source):
            raise PluginError(
                f"there is no {kind.noun} {source!r}, nor a module of that name.{_hint(kind, source)}"
            ) from error
        raise


def _load_entry_point(kind: Kind, name: str) -> Any:
    points = [point for point in _entry_points(kind) if point.name == name]
    if not points:
        raise PluginError(f"there is no {kind.noun} {name!r}.{_hint(kind, name)}")
    if len({point.value for point in points}) > 1:
        owners = " and ".join(f"{_distribution(point)} ({point.value})" for point in points)
        raise PluginError(f"the {kind.noun} {name!r} is declared by {owners}; name one by its import string.")
    try:
        return points[0].load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        from importlib import metadata

        whose = f"the {kind.noun} {name!r} of {_distribution(points[0])}"
        words = in_words(error, __file__, metadata.__file__)
        if isinstance(error, ImportError):
            words += hint_about(error, raised_at(error, __file__, metadata.__file__)).rstrip(".")
        raise PluginError(f"{whose} cannot be imported from {points[0].value}: {words}") from error


def _hint(kind: Kind, name: str) -> str:
    known = list(dict.fromkeys(found.name for found in names(kind)))
    there = f" There are {', '.join(known)}." if len(known) > 1 else f" There is {known[0]}." if known else ""
    own = " To use your own, give its import string: package.module:Thing or path/to/file.py:Thing."
    return f"{nearest(name, known)}{there}{own}"


def _entry_points(kind: Kind) -> Iterator[EntryPoint]:
    # Searching all installed distributions takes milliseconds, so it is done only if a name is not found otherwise.
    from importlib import metadata

    yield from metadata.entry_points(group=kind.group)


def _distribution(point: EntryPoint) -> str:
    try:
        assert point.dist is not None
        return f"{point.dist.name} {point.dist.version}"
    except Exception:  # a distribution whose metadata is damaged must not hide the others
        return "an unknown distribution"
