"""`--viva-suite NAME`: gives the plugin's options the values of a suite of `viva.yaml`, unless they were typed."""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from viva.cases import Case, CaseError, find_case
from viva.errors import SetupError
from viva.exam.option_declaration import Value
from viva.exam.options import Options
from viva.journal.errors import JournalError
from viva.journal.reader import read_records
from viva.pytest_plugin.options import OPTIONS, name_of
from viva.records.redact import redacted
from viva.records.text import one_line

if TYPE_CHECKING:
    from viva.cli.project.named_gates import NamedGates

OWN = {
    "agents": "--viva-agent",
    "trials": "--viva-trials",
    "threshold": "--viva-threshold",
    "sinks": "--viva-sink",
    "out": "--viva-out",
}
"""The plugin's options that are no fields of `Options`, by the parameter of `viva suite`."""
CHOICE = ("names", "tags")
"""Parameters that choose among the cases."""
GATES_KEY: pytest.StashKey[NamedGates] = pytest.StashKey()
"""Where a session keeps the gates of its suite; the workers of pytest-xdist have none."""


def use_named_suite(config: pytest.Config) -> None:
    """Take options and cases from the suite that `--viva-suite` names.

    Raises:
        pytest.UsageError: there is no such suite, its file is not sound or not trusted, or it names no agent.
    """
    from viva.cli.project.named_gates import GATES, NamedGates
    from viva.cli.project.named_values import named_values

    flags = {field.name: name_of(option) for field, option in Options.declared(*OPTIONS)} | OWN
    typed = set(_typed(config))
    given = [parameter for parameter, flag in flags.items() if flag in typed]
    paths_typed = config.args_source is pytest.Config.ArgsSource.ARGS
    given += ["paths"] if paths_typed else []
    name = config.getoption("viva_suite")
    try:
        found = named_values(name, "--viva-trust", trusted=config.getoption("viva_trust"), given=given)
        if "paths" in found.values:
            config.args = [str(_path(each)) for each in found.values["paths"]]
    except (CaseError, SetupError) as error:
        raise pytest.UsageError(f"viva: {redacted(str(error))}") from error
    several = {
        field.name for field, option in Options.declared(*OPTIONS) if option.value in (Value.TEXTS, Value.MODELS)
    }
    for parameter, value in found.values.items():
        if parameter in flags:
            listed = list(value) if parameter in several or isinstance(value, tuple) else value
            setattr(config.option, _dest(flags[parameter]), str(value) if parameter == "out" else listed)
    config.option.viva_choice = {each: list(found.values.get(each, ())) for each in CHOICE}
    gated = {each: found.values[each] for each in GATES if each in found.values}
    if gated and not hasattr(config, "workerinput"):
        try:
            config.stash[GATES_KEY] = NamedGates(gated, config.getoption("viva_threshold"))
        except (SetupError, JournalError) as error:
            raise pytest.UsageError(f"viva: the suite {name!r}: {redacted(str(error))}") from error
    known = {*flags, *CHOICE, *GATES, "paths"}
    unused = sorted(found.keys[parameter] for parameter in found.values if parameter not in known)
    note = f" (without {', '.join(unused)}, which pytest has no options for)" if unused else ""
    config.option.viva_suite_words = f"suite {name} from {one_line(found.origin.file, 500)}{note}"
    if not config.getoption("viva_agent"):
        raise pytest.UsageError(f"viva: the suite {name!r} names no agent; add one there, or with --viva-agent SPEC.")


def is_chosen(config: pytest.Config, case: Case) -> bool:
    """Return whether the suite, if one is named, includes a case by its name and tags."""
    choice: dict[str, list[str]] = getattr(config.option, "viva_choice", {})
    names, tags = (choice.get(each, []) for each in CHOICE)
    named = not names or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in names)
    return named and (not tags or not set(tags).isdisjoint(case.tags))


def gate_words(config: pytest.Config, folder: Path, runs: Collection[str]) -> str:
    """Return why the session fails the gates of its suite; empty if it does not, or if there are none.

    Args:
        config: The session's configuration.
        folder: The journal.
        runs: The ids of the session's runs; without any, no gate is passed.

    Raises:
        JournalError: the journal cannot be read.
    """
    gates = config.stash.get(GATES_KEY, None)
    if gates is None or not (runs or gates.are_set):
        return ""
    figures = gates.figures(
        lambda: (each for each in read_records(folder, quick=True) if each.id in runs) if runs else ()
    )
    return gates.result(figures)[1]


def _typed(config: pytest.Config) -> Iterator[str]:
    """Yield the options that were typed or stand in `addopts`; of pytest's parser alone, nobody could tell."""
    added: Any = config.getini("addopts")
    for word in (*added, *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *config.invocation_params.args):
        if str(word).startswith("--viva-"):
            yield str(word).partition("=")[0]


def _dest(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _path(path: str) -> os.PathLike[str] | str:
    """Return a path that pytest collects, for a case that may be a bundled one."""
    return path if os.path.exists(path) else find_case(path)
