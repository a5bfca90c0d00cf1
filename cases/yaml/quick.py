"""Composes YAML with libyaml, several times as fast as with PyYAML's own parser, where both read a text alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_ODD = re.compile(
    r"[\t\x85\u2028\u2029\ufeff]|\r(?!\n)"  # PyYAML refuses tabs in plain text, and counts other ends of lines
    r"|(?:^|[\s\-?:,\[{])(?:\?(?!\S)|!(?!=))"  # complex keys, and tags
    r"|^(?:%|---|\.\.\.)"  # directives, several documents, or an empty one
    r"|[|>][^\n]{0,9}#",  # comments behind the header of a block
    re.MULTILINE,
)
"""What the two read differently, or place in another line; text that only looks like it is read by the slow one."""


def compose(loader: Callable[[str], Any], text: str) -> tuple[Any, yaml.Node | None]:
    """Return a loader of a text, and the nodes of its document; None if it is empty.

    Args:
        loader: A subclass of `yaml.SafeLoader`. It may extend composing, resolving and constructing.
        text: The YAML.

    Raises:
        yaml.YAMLError: the text is not valid; the error is PyYAML's own.
    """
    if yaml.__with_libyaml__ and not _ODD.search(text):
        try:
            found = _quick(loader)(text)
            return found, found.get_single_node()
        except yaml.YAMLError:
            pass  # told by the other parser, whose words and lines users know
    found = loader(text)
    return found, found.get_single_node()


@cache
def _quick(loader: Any) -> Any:
    """Return a class like `loader` that gets its events from libyaml.

    Its nodes are composed in Python, as before: libyaml's own composer calls itself for each level of a text, in C,
    and one that is nested for ever would crash the process.
    """
    from yaml._yaml import CParser  # here, because a PyYAML without libyaml lacks it

    def begin(self: Any, text: str) -> None:
        CParser.__init__(self, text)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)

    own = {name: getattr(Composer, name) for name in ("check_node", "get_node", "get_single_node")}
    return type("QuickLoader", (CParser, loader), {"__init__": begin, **own})
