"""Writes plain data as YAML for people: keys in their order, blocks for texts of several lines, no aliases."""

from __future__ import annotations

from typing import Any

import yaml

from viva.records.text import one_line

WIDTH = 110


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text and not any(character in text for character in "\r\x85\u2028\u2029")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: dict[str, Any], comments: list[str]) -> str:
    """Return a document as YAML.

    Args:
        document: Plain data.
        comments: Lines of comments at the top.
    """
    head = "".join(f"# TO DO: {one_line(words, 300)}\n" for words in comments)
    body = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return head + str(body)
