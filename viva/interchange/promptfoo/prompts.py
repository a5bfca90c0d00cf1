"""The prompts of a configuration: what is said to the agent in each test, with variables still open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.wording import ROLES
from viva.interchange.ledger import Gap
from viva.interchange.parsing import parse
from viva.interchange.promptfoo.references import FileReferences, file_name, is_code
from viva.interchange.promptfoo.templates import in_words, is_template
from viva.interchange.source import Source

SENT = "what is said to the agent"
SEPARATOR = "\n---\n"
"""Between several prompts in one file of text."""
USUAL = ("prompt", "query", "question", "message", "input", "user_input", "request", "text", "body")
"""Variables that are said to the agent where the prompts cannot be had."""


@dataclass(slots=True)
class Turn:
    """One message of a prompt."""

    role: str
    content: str


@dataclass(slots=True)
class Prompt:
    """One prompt."""

    turns: list[Turn]
    labels: list[str] = field(default_factory=list)
    """Names by which tests choose prompts."""

    def is_chosen(self, patterns: list[str]) -> bool:
        """Return whether one of the patterns (`*` stands for any characters) is a name of this prompt."""
        return any(fnmatchcase(label, pattern) for pattern in patterns for label in self.labels)


def read_prompts(config: Source, references: FileReferences) -> list[Prompt]:
    """Return the prompts of a configuration; none if they cannot be had, which is reported."""
    node = config.get("prompts")
    if node is None:
        return []
    if node.is_mapping and node.get("id") is None and node.get("raw") is None:  # names by files
        return [prompt for key, each in node.items() for prompt in _labelled(_entry(each, references, key), each)]
    entries = node.elements() if node.is_list else iter([node])
    return [prompt for each in entries for prompt in _entry(each, references)]


def _labelled(prompts: Iterator[Prompt], label: Source) -> Iterator[Prompt]:
    name = label.peek()
    for prompt in prompts:
        if isinstance(name, str):
            prompt.labels.append(name)
            label.express("the name of a prompt")
        yield prompt


def _entry(node: Source, references: FileReferences, name: str | None = None) -> Iterator[Prompt]:
    if node.is_mapping:
        yield from _mapping(node, references)
        return
    text = name if name is not None else node.peek()
    if not isinstance(text, str):
        node.report(Gap.NOT_READ, "it is not a prompt")
    elif text.startswith("file://") or _is_file(text):
        yield from _file(node, text.removeprefix("file://"), references)
    else:
        node.take() if not is_template(text) else node.express(SENT)
        yield Prompt(_turns(text), [text])


def _mapping(node: Source, references: FileReferences) -> Iterator[Prompt]:
    label, identity = node.get("label"), node.get("id")
    labels = [each.express("the name of a prompt") for each in (label, identity) if each is not None]
    labels = [each for each in labels if isinstance(each, str)]
    raw = node.get("raw")
    for key, each in node.items():
        if key not in ("label", "id", "raw"):
            each.report(Gap.NO_HOME, "settings of the model; they belong to the agent")
    if raw is not None and isinstance(raw.peek(), str) and file_name(raw) is None:
        raw.take() if not is_template(raw.peek()) else raw.express(SENT)
        yield Prompt(_turns(raw.peek()), labels)
    elif (named := raw or identity) is not None and isinstance(named.peek(), str):
        for prompt in _file(named, named.peek().removeprefix("file://"), references):
            yield Prompt(prompt.turns, labels)


def _file(node: Source, name: str, references: FileReferences) -> Iterator[Prompt]:
    if is_code(name):
        node.report(Gap.REFUSED, "a program would be run to make the prompt; nothing is run by an import")
        return
    for each in references.listed_files(node, name):
        value = each.peek()
        if isinstance(value, str):
            each.express(SENT)
            yield from (Prompt(_turns(part.strip()), [name]) for part in value.split(SEPARATOR) if part.strip())
        else:
            each.express(SENT)
            yield Prompt(_turns(json.dumps(value, ensure_ascii=False)), [name])


def _is_file(text: str) -> bool:
    endings = (".txt", ".md", ".json", ".yaml", ".yml", ".j2", ".py", ".js")
    return "\n" not in text and " " not in text.strip() and text.lower().endswith(endings)


def _turns(text: str) -> list[Turn]:
    """Return the messages of a chat, if a text is one in JSON or YAML, or one message of the user."""
    stripped = text.strip()
    if stripped.startswith(("[", "- role")) and "role" in stripped:
        try:
            chat = parse(
                stripped.encode("utf-8", "replace"), "" if stripped[0] == "[" else ".yaml", "prompt", core_yaml=True
            )
        except SetupError:  # a template that is JSON only when it is filled in
            chat = None
        if isinstance(chat, list) and chat and all(isinstance(each, Mapping) and "role" in each for each in chat):
            return [Turn(ROLES.get(str(each["role"]), "user"), _content(each.get("content"))) for each in chat]
    return [Turn("user", text)]


def _content(content: Any) -> str:
    if isinstance(content, list):  # parts, of which only texts can be said
        return "\n".join(
            in_words(each.get("text", each)) if isinstance(each, dict) else in_words(each) for each in content
        )
    return in_words(content if content is not None else "")


def fallback(variables: Mapping[str, Any]) -> str | None:
    """Return the name of the variable that is probably said to the agent; None if that cannot be guessed."""
    known = [name for name in USUAL if isinstance(variables.get(name), str)]
    texts = [name for name, value in variables.items() if isinstance(value, str)]
    return known[0] if known else texts[0] if len(texts) == 1 else None
