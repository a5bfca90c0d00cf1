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
            node = found.get_single_node()
            if node is None or not _is_odd(node):
                return found, node
        except yaml.YAMLError:
            pass  # told by the other parser, whose words and lines users know
    found = loader(text)
    return found, found.get_single_node()


def _is_odd(root: yaml.Node) -> bool:
    """Return whether PyYAML refuses what is in brackets: a question mark in plain text, or places a mistake elsewhere.

    The marks are common in prose, so their text is no reason to read all of it slowly.
    """
    nodes, seen = [root], set[int]()
    while nodes:
        node = nodes.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        plain = (part.value for part in parts if isinstance(part, yaml.ScalarNode) and not part.style)
        if node.flow_style and any("?" in text or text == "<<" for text in plain):
            return True
        nodes += parts
    return False


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
