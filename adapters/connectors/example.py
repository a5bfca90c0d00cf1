"""The connector to the agents that come with Viva: `example:careful`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from viva.adapters.connectors.child.connector import ChildConnector
from viva.adapters.connectors.loaded_agent import Connector, LoadedAgent
from viva.adapters.connectors.python import PythonConnector
from viva.errors import SetupError

_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "example_agents", _PACKAGE.parent / "examples" / "agents")
"""The folders of an installation and of a checkout; site-packages may contain another project's `examples`."""


def example_names() -> list[str]:
    """Return the names of the agents that come with Viva, sorted."""
    folder = _folder()
    return [] if folder is None else sorted(file.stem for file in folder.glob("*.py"))


def _folder() -> Path | None:
    return next((folder for folder in FOLDERS if folder.is_dir()), None)


class ExampleConnector:
    """Connects to an example by its name."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `example:NAME`.

        Raises:
            SetupError: there is no such example.
        """
        name = spec.partition(":")[2]
        folder, names = _folder(), example_names()
        if folder is None or name not in names:
            raise SetupError(f"there is no example agent {name!r}; there are {', '.join(names)}.")
        connector: Connector = ChildConnector() if isolate else PythonConnector()
        file = f"{folder / name}.py:{name.title().replace('_', '')}Agent"
        agent = connector.load(file, isolate=isolate, memory_mb=memory_mb)
        # The SPEC in records must not reveal where Viva is installed.
        return replace(agent, spec=spec, kind="example")
