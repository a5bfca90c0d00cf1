"""The connector to a TaskWeaver project: `taskweaver:PROJECT`, or `taskweaver:PROJECT@/path/to/venv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.adapters.connectors.child.connector import ChildConnector
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.inside import ready
from viva.errors import SetupError

CONFIG = "taskweaver_config.json"


class TaskWeaverConnector:
    """Runs TaskWeaver in a process of its own, because it prints much, and each of its sessions starts a kernel."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `taskweaver:PROJECT`, with Viva's interpreter unless `@/path/to/venv` names another.

        Raises:
            SetupError: there is no such project or interpreter, or TaskWeaver cannot be imported with it.
        """
        name, at, python = spec.partition(":")[2].partition("@")
        project = Path(name).expanduser().resolve()
        if not name or not (project / CONFIG).is_file():
            raise SetupError(
                f"{name or spec!r} is not the folder of a TaskWeaver project: it has no {CONFIG}. "
                "`python -m taskweaver init -p FOLDER` makes one."
            )
        file = Path(ready.__file__).with_name("taskweaver_project.py")
        found = ChildConnector().load(f"{file}:project{at}{python}", isolate=True, memory_mb=memory_mb)
        factory = _of_project(found.factory, str(project))
        return replace(found, spec=spec, name=project.name, factory=factory, kind="taskweaver", digest=None)


def _of_project(child: Any, project: str) -> Any:
    """Return the class of agents that all have one project, whatever `app_dir` a case has."""

    def init(
        self: Any,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
        workspace: Path | None = None,
    ) -> None:
        child.__init__(self, task_description, project, config_var, workspace)

    return type("TaskWeaver", (child,), {"__init__": init})
