"""Writes plain data as YAML for people: keys in their order, blocks for texts of several lines, no aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

import yaml

from viva.interchange.yaml_loading import reads_otherwise
from viva.records.text import one_line

WIDTH = 110


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text and not any(character in text for character in "\r\x85\u2028\u2029")
    # PyYAML quotes what YAML 1.1 takes for a number or a flag; promptfoo reads YAML 1.2, in which `1e5` is a number.
    quoted = "'" if reads_otherwise(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else quoted)


_Dumper.add_representer(str, _text)


def yaml_text(document: Any, comments: Sequence[str] = ()) -> str:
    """Return a document as YAML.

    Args:
        document: Plain data.
        comments: What a person has to do; lines of comments at the top.
    """
    head = "".join(f"# TO DO: {one_line(words, 300)}\n" for words in comments)
    body = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return head + str(body)


def cases_text(defaults: Mapping[str, Any], cases: Sequence[tuple[str, Mapping[str, Any], Sequence[str]]]) -> str:
    """Return a file of several cases as YAML.

    Args:
        defaults: What they have in common; may be empty.
        cases: Their names, what they hold, and the comments above them.
    """
    head = yaml_text({"defaults": dict(defaults)}) if defaults else ""
    entries = (yaml_text({name: dict(document)}, comments) for name, document, comments in cases)
    return head + "cases:\n" + "".join(indent(entry, "  ") for entry in entries)
