"""What was given on pytest's command line: the agents, the options of an exam, the journal's folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from viva.adapters.connectors.spec import agent_label
from viva.errors import SetupError
from viva.exam.examiners import with_chosen_names
from viva.exam.option_declaration import Value
from viva.exam.options import Options, one_or_several
from viva.journal.paths import new_journal_folder
from viva.journal.writer import JournalError
from viva.plugins.parameters import split_list
from viva.pytest_plugin.options import OPTIONS, name_of
from viva.records.redact import redacted
from viva.records.text import one_line, printable
from viva.suites.resuming.stored_request import holds_request


def agent_labels(specs: Sequence[str], option: str = "--viva-agent") -> dict[str, str]:
    """Return a short name for each agent, by its SPEC: the class or model; the SPEC itself where that is ambiguous.

    Args:
        specs: The agents.
        option: The option with which they were given.

    Raises:
        pytest.UsageError: an agent is given twice.
    """
    if len(set(specs)) < len(specs):
        raise pytest.UsageError(
            f"viva: the same {option} is given twice; use --viva-trials to test an agent several times. Agents in "
            "`addopts` and on the command line are tested together."
        )
    short = {spec: agent_label(spec) for spec in specs}
    taken = Counter(short.values())
    # pytest takes `::` for the end of a file's name.
    return {
        spec: (one_line(spec, 200) if taken[label] > 1 else label).replace("::", ":") for spec, label in short.items()
    }


def exam_options(config: pytest.Config) -> Options:
    """Return the options of an exam.

    Raises:
        SetupError: a persona or a strategy does not exist, or there are several.
    """
    values: dict[str, Any] = {}
    for field, option in Options.declared(*OPTIONS):
        value = config.getoption(name_of(option))
        if option.value is Value.TEXTS:
            value = tuple(name for part in value for name in split_list(part))
        elif option.value is Value.MODELS:
            value = one_or_several(value or ())
        values[field.name] = value
    return with_chosen_names(Options(**values), several=False)


def journal_folder(config: pytest.Config) -> Path:
    """Return the absolute folder of the journal.

    Raises:
        pytest.UsageError: it is not a folder, or contains the journal of a command.
    """
    if (shared := getattr(config, "workerinput", {}).get("viva_out")) is not None:
        return Path(shared)
    given = config.getoption("viva_out")
    try:
        folder = new_journal_folder(Path(given) if given else None, "pytest")
    except (SetupError, JournalError) as error:
        raise pytest.UsageError(f"viva: {redacted(str(error)).replace('--out', '--viva-out')}") from error
    if holds_request(folder):
        raise pytest.UsageError(
            f"viva: {printable(str(folder))} already contains the journal of a viva command; choose another "
            "folder with --viva-out."
        )
    return Path(os.path.abspath(folder))
