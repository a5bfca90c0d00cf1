"""The formats that can be imported, in the order in which a source is tried."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol, cast

from viva.cases.plain_fields import nearest
from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user asked for beside the source."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    """Dotted paths in a row by what they are: `input`, `expected`, …"""


class Importer(Protocol):
    """What a module of a format provides."""

    def recognises(self, source: SourceFile) -> bool:
        """Return whether a source is of this format. It may not raise for any other source that can be parsed."""

    def read(self, source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
        """Return the cases of a source; `Source` says how each value is accounted for."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format."""

    name: str
    module: str
    words: str
    """What it is, for `viva import --list`."""
    reader: str = ""
    """The reader of recordings that takes the file, if it holds results and no cases: these become a journal."""

    def load(self) -> Importer:
        """Import its module."""
        module: ModuleType = importlib.import_module(self.module)
        return cast("Importer", module)


FORMATS = (
    Format("inspect", "viva.interchange.inspect_ai.importer", "Datasets and logs of Inspect AI."),
    Format("harbor", "viva.interchange.harbor.importer", "Tasks of Harbor: folders with a task.toml."),
    Format("adk", "viva.interchange.adk.importer", "Eval sets of Google's ADK, with their test_config.json."),
    Format("tau2", "viva.interchange.tau2.importer", "Tasks of tau2-bench."),
    Format("pydantic-evals", "viva.interchange.pydantic_evals.importer", "Datasets of pydantic-evals."),
    Format("deepeval", "viva.interchange.deepeval.importer", "Goldens of DeepEval: JSON, JSON Lines and CSV."),
    Format("openai-evals", "viva.interchange.openai_evals.importer", "Samples and registry files of openai/evals."),
    Format(
        "promptfoo",
        "viva.interchange.promptfoo.importer",
        "Configurations of promptfoo, and OpenAI's runnable exports.",
    ),
    Format(
        "openai-results",
        "viva.interchange.openai_results",
        "Results that OpenAI's hosted evals exported as JSON Lines; they become a journal with verdicts.",
        reader="openai_evals",
    ),
    Format("rows", "viva.interchange.rows.importer", "Rows of CSV, JSON or JSON Lines, and datasets of platforms."),
)
"""Rows come last: nearly every list of mappings is one."""


def format_named(name: str) -> Format:
    """Return a format by its name.

    Raises:
        SetupError: there is none; the message names the nearest.
    """
    for each in FORMATS:
        if each.name == name:
            return each
    raise SetupError(f"there is no format {name!r} to import; {nearest(name, [each.name for each in FORMATS])}")


def recognised(source: SourceFile) -> Format:
    """Return the format of a source.

    Raises:
        SetupError: it is of none of them, or cannot be parsed.
    """
    for each in FORMATS:
        if each.load().recognises(source):
            return each
    names = ", ".join(each.name for each in FORMATS)
    raise SetupError(f"{source.path} is of no known format; name it with --format ({names}).")
