"""Follows the references of a configuration: `$ref` within it, and `file://` to files of its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from viva.errors import SetupError
from viva.interchange.files import SourceFile
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

FILE = "file://"
DATA = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".csv", ".tsv")
TEXTS = (".txt", ".md", ".j2", ".jinja", ".html", ".xml", ".sql", "")
CODE = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".rb", ".go", ".sh", ".exe")
DEEPEST = 10
_FUNCTION = re.compile(r"(?P<file>.*\.(?:py|js|cjs|mjs|ts|cts|mts|rb|go)):(?P<name>[A-Za-z_]\w*)")


def file_name(source: Source) -> str | None:
    """Return the file that a text names with `file://`; None if it names none."""
    text = source.peek()
    return text[len(FILE) :].strip() if isinstance(text, str) and text.startswith(FILE) else None


def with_function(name: str) -> tuple[str, str | None]:
    """Return the parts of `file.py:function`; the function is None if there is none."""
    match = _FUNCTION.fullmatch(name)
    return (match["file"], match["name"]) if match else (name, None)


def is_code(name: str) -> bool:
    """Return whether a file holds a program, which no import runs."""
    return PurePosixPath(with_function(name)[0]).suffix.lower() in CODE


class FileReferences:
    """Resolves what the parts of one configuration refer to. What cannot be resolved goes into the report."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file

    def resolved(self, node: Source) -> Source | None:
        """Return the node, or what it refers to by `$ref` or `file://`; None if that cannot be had."""
        for _ in range(DEEPEST):
            pointer = node.get("$ref")
            if pointer is not None and isinstance(pointer.peek(), str) and pointer.peek().startswith("#/"):
                target = self._file.tree()
                for step in pointer.peek()[2:].split("/"):
                    found = target.get(step.replace("~1", "/").replace("~0", "~"))
                    if found is None:
                        pointer.report(Gap.NOT_READ, "it refers to something that the file does not have")
                        return None
                    target = found
                pointer.express("what it refers to")
                node = target
                continue
            name = file_name(node)
            if name is None:
                return node
            found = self.document(node, name)
            if found is None:
                return None
            node = found
        node.report(Gap.REFUSED, f"it is a chain of more than {DEEPEST} references")
        return None

    def document(self, node: Source, name: str) -> Source | None:
        """Return a file of data or text that a node names; None, with a note, if it is neither or cannot be read."""
        suffix = PurePosixPath(name).suffix.lower()
        if is_code(name):
            node.report(Gap.REFUSED, "a program would be run to get the value; nothing is run by an import")
            return None
        try:
            if suffix in DATA:
                found = self._file.tree_of(name)
            elif suffix in TEXTS:
                found = self._file.tree_of_text(name)
            else:
                node.report(Gap.NO_HOME, "a file of a kind that is neither text nor data")
                return None
        except SetupError as error:
            node.report(Gap.REFUSED, str(error))
            return None
        node.express("the content of the file")
        return found

    def listed(self, node: Source) -> Iterator[Source]:
        """Yield the entries of a list in which files with lists may be named, also by patterns."""
        if node.is_list:
            for entry in node.elements():
                yield from self.listed(entry) if file_name(entry) is not None or entry.is_list else self._one(entry)
            return
        name = file_name(node) or (node.peek() if isinstance(node.peek(), str) else None)
        if name is None:
            yield from self._one(node)
            return
        if "://" in name:
            node.report(Gap.REFUSED, "it is on the network; download it, and name the file")
            return
        for found in self.listed_files(node, name):
            yield from found.elements() if found.is_list else iter([found])

    def listed_files(self, node: Source, name: str) -> Iterator[Source]:
        """Yield the files that a name or a pattern stands for; one that cannot be read is reported."""
        for each in self._file.names_matching(name) or [name]:
            found = self.document(node, each)
            if found is not None:
                yield found

    def text(self, name: str) -> Source:
        """Return the text of a file of the folder.

        Raises:
            SetupError: it lies outside, or cannot be read.
        """
        return self._file.tree_of_text(name)

    def _one(self, node: Source) -> Iterator[Source]:
        found = self.resolved(node)
        if found is not None:
            yield found
