"""Loads YAML within limits: by YAML 1.1, as tools in Python read it, or by the core schema of YAML 1.2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

MOST_YAML_VALUES = 100_000
"""Maximum number of values, because two megabytes of short ones take the parser more than a minute."""
MOST_YAML_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 60
DIGITS = list("+-.0123456789")


class UnusableError(Exception):
    """The file cannot be parsed; the message follows the file's name."""


def pairs(found: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a mapping in which earlier values of a repeated key are kept under a name of their own."""
    made: dict[str, Any] = {}
    for key, value in found:
        name = str(key)
        if name in made:
            number = 1
            while f"{name} (duplicate {number})" in made:
                number += 1
            made[f"{name} (duplicate {number})"] = made[name]
        made[name] = value
    return made


class _BoundedLoader(yaml.SafeLoader):
    """The safe loader, within bounds. Aliases are allowed: `_Plain` counts what they stand for."""

    _values = 0
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._values += 1
        if self._values > MOST_YAML_VALUES:
            raise UnusableError(f"holds more than {MOST_YAML_VALUES:,} values, the maximum of a YAML file.")
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise UnusableError(f"is nested deeper than {MOST_DEPTH} levels.")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_pairs_of(self, node: yaml.MappingNode) -> Iterator[Any]:
        made: dict[str, Any] = {}
        yield made
        own = [(key, value) for key, value in node.value if not _is_merge(key)]
        for key, value in node.value:
            if _is_merge(key):
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    inner = self.construct_object(merged, deep=True)
                    if not isinstance(inner, dict):
                        raise UnusableError("merges something with '<<' that is not a mapping.")
                    made.update({name: each for name, each in inner.items() if name not in made})
        merged_names = dict(made)
        listed = [(self._key(key), self.construct_object(value, deep=True)) for key, value in own]
        made.update(merged_names | pairs(listed))

    def _key(self, node: yaml.Node) -> str:
        return (
            node.value
            if isinstance(node, yaml.ScalarNode)
            else json.dumps(self.construct_object(node, True), default=str)
        )

    def construct_unknown(self, node: yaml.Node) -> Any:
        """Keep what a foreign tag (`!env`, `!!python/object`) is put on as plain data; nothing is built from it."""
        if isinstance(node, yaml.ScalarNode):
            return f"{node.tag} {node.value}".strip()
        if isinstance(node, yaml.SequenceNode):
            return {node.tag: self.construct_sequence(node, deep=True)}
        return {node.tag: {self._key(key): self.construct_object(value, deep=True) for key, value in node.value}}


_BoundedLoader.add_constructor("tag:yaml.org,2002:map", _BoundedLoader.construct_pairs_of)
_BoundedLoader.add_constructor(None, _BoundedLoader.construct_unknown)


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:merge"


class _CoreLoader(_BoundedLoader):
    """The loader for the core schema of YAML 1.2, with the dates and merges of js-yaml."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML declares it without ClassVar
        first: [(tag, pattern) for tag, pattern in found if tag.endswith((":timestamp", ":merge"))]
        for first, found in _BoundedLoader.yaml_implicit_resolvers.items()
    }

    def construct_number(self, node: yaml.ScalarNode) -> int:
        text = node.value.replace("_", "")
        digits = text.lstrip("+-")
        base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2], 10)
        return int(text, base)


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0b[01_]*[01]|0o[0-7_]*[0-7]|0x[0-9a-fA-F_]*[0-9a-fA-F]|[0-9](?:[0-9_]*[0-9])?)", DIGITS),
    ("float", r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?(?<!_)|\.[0-9_]+(?:[eE][-+]?[0-9]+)?(?<!_)", DIGITS),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", DIGITS),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)
_CoreLoader.add_constructor("tag:yaml.org,2002:int", _CoreLoader.construct_number)


def reads_otherwise(text: str) -> bool:
    """Return whether the core schema of YAML 1.2 reads a plain scalar as something else than text."""
    return any(pattern.match(text) for _, pattern in _CoreLoader.yaml_implicit_resolvers.get(text[:1], ()))


def load_yaml(text: str, *, core: bool) -> Any:
    """Return the one document of a text.

    Args:
        text: The YAML.
        core: Read it by the core schema of YAML 1.2, in which `yes`, `no` and `12:30` are texts.

    Raises:
        UnusableError: it cannot be loaded, or exceeds a limit.
    """
    if len(text) > MOST_YAML_BYTES:
        raise UnusableError(f"is longer than {MOST_YAML_BYTES:,} characters, the maximum of a YAML file.")
    try:
        loader = _CoreLoader(text) if core else _BoundedLoader(text)
        return loader.get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UnusableError(f"is not valid YAML{where}: {str(problem)[:300]}.") from error
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        # PyYAML lets these through for dates like 2024-99-99, for `!!bool maybe`, `!!float ''` and "\\UFFFFFFFF".
        raise UnusableError(f"holds a value that cannot be read: {error}.") from error
