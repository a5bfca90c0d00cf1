"""The connector to a TaskWeaver project: `taskweaver:PROJECT`, `taskweaver:PROJECT@/path/to/venv`, or an agent file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.child.connector import ChildConnector
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.inside import ready

CONFIG = "taskweaver_config.json"


class TaskWeaverKeys(ConnectorKeys):
    """The keys of an agent file with `connector: taskweaver`."""

    project: str = Field(min_length=1)
    """The project's folder, the one with `taskweaver_config.json`."""
    python: str | None = Field(default=None, min_length=1)
    """The virtual environment with TaskWeaver, or its interpreter; the default is Viva's own."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Settings over those of the project, such as `llm.model`. A case's `config_var` is over these."""


class TaskWeaverConnector:
    """Runs TaskWeaver in a process of its own, because it prints much, and each of its sessions starts a kernel."""

    keys: ClassVar[type[ConnectorKeys]] = TaskWeaverKeys

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `taskweaver:PROJECT`, with Viva's interpreter unless `@/path/to/venv` names another.

        Raises:
            SetupError: there is no such project or interpreter, or TaskWeaver cannot be imported with it.
        """
        project, _, python = spec.partition(":")[2].partition("@")
        keys = TaskWeaverKeys.model_construct(project=project, python=python or None)
        return self.load_file(AgentFile.of_spec(spec, keys), isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[TaskWeaverKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: as for `load`.
        """
        keys = file.keys
        project = (file.folder / Path(keys.project).expanduser()).resolve()
        if not keys.project or not (project / CONFIG).is_file():
            raise file.mistake(
                f"{keys.project!r} is not the folder of a TaskWeaver project: it has no {CONFIG}. "
                "`python -m taskweaver init -p FOLDER` makes one.",
                "project",
            )
        code = Path(ready.__file__).with_name("taskweaver_project.py")
        python = "" if keys.python is None else f"@{_path(file.folder, keys.python)}"
        found = ChildConnector().load(f"{code}:project{python}", isolate=True, memory_mb=memory_mb)
        factory = _of_project(found.factory, str(project), keys.config)
        return replace(found, spec=file.spec, name=project.name, factory=factory, kind="taskweaver", digest=None)


def _path(folder: Path, python: str) -> str:
    """Return the path of an environment that a file names; a name without a slash may be a program."""
    return python if "/" not in python and not (folder / python).exists() else str(folder / Path(python).expanduser())


def _of_project(child: Any, project: str, config: Mapping[str, Any]) -> Any:
    """Return the class of agents that all have one project, whatever `app_dir` a case has."""

    def init(
        self: Any,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
        workspace: Path | None = None,
    ) -> None:
        child.__init__(self, task_description, project, {**config, **(config_var or {})}, workspace)

    return type("TaskWeaver", (child,), {"__init__": init, "forwards_settings": False})
