"""Environments in which Viva is installed, shared by the tests of this folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.installed.environments import Environment, Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    base = tmp_path_factory.getbasetemp()
    # Each process of pytest-xdist has a folder of its own in the one that they share.
    shared: Path = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Workshop(shared / "installed")


@pytest.fixture(scope="session")
def beside_neighbours(workshop: Workshop) -> Environment:
    """Viva's wheel, and after it distributions of others with names that Viva's packages had."""
    return workshop.environment("viva-first", [workshop.wheel], workshop.neighbours)


@pytest.fixture(scope="session")
def after_neighbours(workshop: Workshop) -> Environment:
    """The same, with Viva's wheel installed last."""
    return workshop.environment("viva-last", workshop.neighbours, [workshop.wheel])


@pytest.fixture(scope="session")
def alone(workshop: Workshop) -> Environment:
    """Viva's wheel and nothing else."""
    return workshop.environment("wheel", [workshop.wheel])
