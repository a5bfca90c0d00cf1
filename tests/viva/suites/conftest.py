"""What the tests of engines share: a Ray cluster with a model server in its environment, and the engines by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.model_server import ModelServer, ServerError, by_role
from tests.ray_clusters import OPEN, RayNodes, ray_nodes
from tests.viva.viva_command import clean_environment

MODEL = "gpt-4o-mini"
FAILING = "gpt-4.1-mini"
SECRET = "planted-secret-8d41f7"


@dataclass(frozen=True)
class Engine:
    """An engine, as the command line names it."""

    name: str
    options: tuple[str, ...]
    environment: dict[str, str]
    """The environment in which the jobs are done. Keys are only there, and never with a driver on its own."""
    server: ModelServer
    """The model server whose address is in that environment."""


@pytest.fixture(scope="session")
def models() -> Iterator[ModelServer]:
    """A server with a model that works and one that fails."""
    with ModelServer({MODEL: by_role(), FAILING: ServerError(500)}) as server:
        yield server


def keys_for(server: ModelServer) -> dict[str, str]:
    """What a model requires in the environment."""
    wait = {"VIVA_MODEL_WAIT": "0.01", "VIVA_MODEL_ATTEMPTS": "1"}
    return {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": server.url, **wait}


@pytest.fixture(scope="session")
def cluster(models: ModelServer) -> Iterator[RayNodes]:
    """A cluster of two nodes that several tests use; one of them runs checks."""
    os.environ.update(OPEN)
    with ray_nodes({**clean_environment(), **keys_for(models)}) as nodes:
        nodes.start("checks", cpus=2, sandboxes=2)
        nodes.start("plain", cpus=1)
        yield nodes


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest, models: ModelServer) -> Engine:
    """Each engine in turn: both must keep the same promises."""
    if request.param == "local":
        return Engine("local", (), keys_for(models), models)
    nodes: RayNodes = request.getfixturevalue("cluster")
    return Engine("ray", ("--engine", "ray", "--ray-address", nodes.address), {}, models)
