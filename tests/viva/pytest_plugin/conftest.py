"""What tests of the pytest plugin share."""

from __future__ import annotations

import importlib

import pytest

MODULES = (
    "pydantic.dataclasses",
    "viva.adapters.connectors.child.connector",
    "viva.adapters.connectors.command.connector",
    "viva.adapters.connectors.example",
    "viva.adapters.connectors.python",
    "viva.exam.examine",
    "viva.exam.judging.resources",
    "viva.exam.resources",
    "viva.pytest_plugin.conformance.checks",
    "viva.pytest_plugin.conformance.host",
    "viva.pytest_plugin.exams",
    "viva.sandbox.bwrap",
    "viva.sandbox.docker.backend",
    "viva.sandbox.process",
    "viva.sinks",
    "viva.suites.worker",
)
"""What sessions with an agent import."""


@pytest.fixture(scope="session", autouse=True)
def imported_once() -> None:
    """`pytester` forgets what a session in this process is the first to import, and the next imports it again."""
    for name in MODULES:
        importlib.import_module(name)
