"""Settings of agents: those that are varied, and those in the brackets of a SPEC.

A setting is an argument of the agent's constructor, a key of its agent file, or else a key of `config_var`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.varied_spec import SETTING_NAME, TEXT_ENDINGS, VariedSpec, split_settings
from viva.errors import SetupError
from viva.records.text import one_line
from viva.regular_files import read_text

MOST_AGENTS = 1_000
"""Maximum number of combinations of settings."""


def parse_varied(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each setting that is varied.

    Args:
        texts: As `--vary` takes them: `temperature=0,0.7`. A value with a comma stands in double quotes.

    Raises:
        SetupError: a text is not of this form, a setting or a value is given twice, or a setting has one value only.
    """
    varied: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        shown = one_line(text, 100)
        if not equals or re.fullmatch(SETTING_NAME, name) is None:
            raise SetupError(f"--vary takes NAME=VALUE,VALUE…, such as temperature=0,0.7, not {shown!r}.")
        if name in varied:
            raise SetupError(f"--vary is given twice for {name}; name all values at once: --vary {name}=VALUE,VALUE…")
        try:
            values = [each.strip() for each in next(csv.reader([rest], strict=True), [])]
        except (csv.Error, StopIteration) as error:
            raise SetupError(f"--vary {shown}: the quotes do not match ({error}).") from None
        if len(values) < 2:
            raise SetupError(f"--vary {shown}: at least two values are required, separated by commas.")
        if twice := [value for value, number in Counter(values).items() if number > 1]:
            raise SetupError(f"--vary {shown}: the value {one_line(twice[0], 60)!r} is given twice.")
        varied[name] = tuple(values)
    return varied


def varied_texts(varied: Mapping[str, Iterable[object]] | str | Iterable[str]) -> tuple[str, ...]:
    """Return values of settings as `--vary` takes them.

    Args:
        varied: The values by the names of settings; or texts, which are returned as they are.

    Raises:
        SetupError: the values of a setting are no sequence of texts, numbers and truth values.
    """
    if isinstance(varied, str):
        return (varied,)
    if not isinstance(varied, Mapping):
        return tuple(varied)
    texts: list[str] = []
    for name, values in varied.items():
        listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping) else []
        if not listed or not all(value is None or isinstance(value, str | bool | int | float) for value in listed):
            raise SetupError(
                f"vary takes lists of texts, numbers and truth values by name, not {name}={values!r:.100}."
            )
        row = io.StringIO()
        words = [value if isinstance(value, str) else json.dumps(value) for value in listed]
        csv.writer(row).writerow(words)
        texts.append(f"{name}={row.getvalue()[:-2]}")  # without the line break
    return tuple(texts)


def varied_specs(specs: Sequence[str], varied: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the SPEC of each agent with each combination of settings.

    Raises:
        SetupError: a SPEC has one of the settings already, or there are too many combinations.
    """
    if not varied:
        return tuple(specs)
    found: list[str] = []
    for spec in specs:
        own = split_settings(spec)
        if both := [name for name in varied if name in own.settings]:
            raise SetupError(f"--vary {both[0]}: the agent {one_line(spec, 200)} has this setting already.")
        for values in itertools.product(*varied.values()):
            if len(found) == MOST_AGENTS:
                raise SetupError(f"--vary: there are more than {MOST_AGENTS:,} combinations; vary fewer settings.")
            chosen = dict(zip(varied, values, strict=True))
            found.append(str(VariedSpec(own.base, {**own.settings, **chosen})))
    return tuple(found)


def number_of_specs(specs: Sequence[str], varied: Mapping[str, Sequence[str]]) -> int:
    """Return how many SPECs `varied_specs` makes, without making them."""
    return len(specs) * math.prod(map(len, varied.values()))


def read_settings(varied: VariedSpec) -> dict[str, Any]:
    """Return the values of settings: a number, true, false or null as in YAML, the text of a file, or else the text.

    Raises:
        SetupError: a setting is given twice, or a file cannot be read.
    """
    if varied.doubled:
        raise SetupError(f"the agent {one_line(str(varied), 200)} has the setting {varied.doubled} twice.")
    return {name: _value(name, text) for name, text in varied.settings.items()}


def with_settings(agent: LoadedAgent, spec: str, varied: VariedSpec, values: Mapping[str, Any]) -> LoadedAgent:
    """Return an agent that is constructed with settings.

    Args:
        agent: The agent of the SPEC without settings.
        spec: The whole SPEC.
        varied: The settings as they are written.
        values: What they stand for.
    """
    digest = agent.digest
    if files := varied.files():
        contents = [digest or "", *(str(values[name]) for name, text in varied.settings.items() if Path(text) in files)]
        digest = hashlib.sha256("\0".join(contents).encode()).hexdigest()[:12]
    return replace(agent, spec=spec, settings=dict(values), digest=digest)


def _value(name: str, text: str) -> Any:
    if text.endswith(TEXT_ENDINGS):
        try:
            return read_text(Path(text), f"the file of the setting {name}")
        except SetupError as error:
            raise SetupError(f"{error} A value that ends in {' or '.join(TEXT_ENDINGS)} names a file.") from None
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return value if isinstance(value, bool | int | float) or (value is None and text) else text
