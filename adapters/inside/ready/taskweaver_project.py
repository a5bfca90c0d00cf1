"""The agent of `taskweaver:PROJECT`."""

from __future__ import annotations

from typing import Any

from taskweaver.app.app import TaskWeaverApp


def project(app_dir: str, config_var: Any = None) -> TaskWeaverApp:
    """Make the application of a project, with the case's `config_var` over the project's configuration."""
    return TaskWeaverApp(app_dir=app_dir, config=config_var)
