"""The options of the pytest plugin. Everything else is imported only with an agent to examine or to check."""

from __future__ import annotations

import pytest

from viva.exam.options import Options
from viva.pytest_plugin.options import OPTIONS, declared, name_of, share, whole


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of an exam, as `viva run` has them."""
    group = parser.getgroup("viva", "examine an AI agent: case folders are test items (Viva)")
    group.addoption(
        "--viva-agent",
        action="append",
        default=[],
        metavar="SPEC",
        help="Collect case folders and test this agent: package.module:Class, path/to/file.py:Class, either one "
        "followed by @/path/to/venv, http(s)://host/v1#model, a2a:http(s)://host, cmd:COMMAND, cmd+plain:COMMAND, "
        "acp:COMMAND, taskweaver:PROJECT, an agent file (path/to/file.yaml), replay:JOURNAL, or example:NAME. Can be "
        "repeated: each case is an item for each agent.",
    )
    for field, option in Options.declared(*OPTIONS):
        group.addoption(name_of(option), **declared(field, option))
    group.addoption(
        "--viva-threshold",
        type=share,
        default=1.0,
        metavar="SCORE",
        help="Minimum score (low bound) of a passing item (default: 1.0).",
    )
    group.addoption("--viva-trials", type=whole(1), default=1, metavar="N", help="Runs of each case (default: 1).")
    group.addoption(
        "--viva-sink",
        action="append",
        default=[],
        metavar="NAME[:…]",
        help="Also send completed runs to jsonl:FILE, package.module:Thing or file.py:Thing. Can be repeated.",
    )
    group.addoption(
        "--viva-conformance",
        action="append",
        default=[],
        metavar="SPEC",
        help="Check this agent and its connector with the conformance suite, without a test file. Can be repeated.",
    )
    group.addoption(
        "--viva-conformance-sessions",
        type=whole(20),
        metavar="N",
        help="Sessions over which memory must stay flat (default: 1,000, or what 90 s allow; 20 for an agent "
        "without the conformance commands).",
    )
    group.addoption(
        "--viva-conformance-message",
        default="Hello. Please answer with one short sentence.",
        metavar="TEXT",
        help="The message to an agent without the conformance commands.",
    )
    group.addoption(
        "--viva-suite",
        metavar="NAME",
        help="Take agents, cases and options from this suite of the nearest viva.yaml; options that are given win.",
    )
    group.addoption(
        "--viva-trust",
        action="store_true",
        help="Permit viva.yaml for this session to load and start what it names; see `viva trust`.",
    )
    group.addoption("--viva-out", metavar="FOLDER", help="The journal's folder (default: a new one under runs/).")


def pytest_configure(config: pytest.Config) -> None:
    """Set up the exams and the conformance suite, if an agent is given for them.

    Raises:
        pytest.UsageError: the options are contradictory.
    """
    if config.getoption("viva_suite"):
        from viva.pytest_plugin.named_suite import use_named_suite

        use_named_suite(config)
    if config.getoption("viva_agent"):
        from viva.pytest_plugin.exams import Exams

        config.pluginmanager.register(Exams(config), "viva-exams")
    if config.getoption("viva_conformance"):
        from viva.pytest_plugin.conformance.host import register

        register(config)
