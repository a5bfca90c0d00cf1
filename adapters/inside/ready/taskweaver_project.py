"""The agent of `taskweaver:PROJECT`."""

from __future__ import annotations

import importlib
from typing import Any

_app = importlib.import_module("taskweaver.app.app")


def project(app_dir: str, config_var: Any = None) -> Any:
    """Make the application of a project, with the case's `config_var` over the project's configuration."""
    return _app.TaskWeaverApp(app_dir=app_dir, config=config_var)
