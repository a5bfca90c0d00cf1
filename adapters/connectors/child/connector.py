"""The connector to agents in their own process: `file.py:Class@/path/to/venv`, or any class with `--isolate`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from viva.adapters.connectors.child.agent import child_class
from viva.adapters.connectors.child.location import Location, split
from viva.adapters.connectors.child.looking import look
from viva.adapters.connectors.loaded_agent import LoadedAgent, file_digest
from viva.adapters.connectors.python import check_file
from viva.adapters.connectors.spec import class_of
from viva.adapters.old_imports import notice
from viva.errors import SetupError


class ChildConnector:
    """Checks the class in a process that is then kept ready; each exam has a process of its own."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `module:Class` or `file.py:Class`, with Viva's interpreter unless `@/path/to/venv` names another.

        Raises:
            SetupError: there is no such module, file, class or interpreter, or it has no `get_reply_from_agent`.
        """
        if sys.platform == "win32":
            raise SetupError("an agent in a process of its own requires Linux or macOS.")
        location = split(spec)
        if location is None:
            location = Location(*class_of(spec), sys.executable)
        location = replace(location, memory_mb=memory_mb)
        if location.module.endswith(".py"):
            check_file(Path(location.module))
        kind = child_class(location)
        found = look(kind)
        search_path = tuple(found.get("path", ()))
        old = found.get("old_import")
        return LoadedAgent(
            spec,
            location.name,
            kind,
            found.get("version"),
            search_path,
            kind="child",
            notices=(notice(str(old)),) if old else (),
            python=location.python,
            digest=file_digest(found.get("file")),
            release=kind.ready.release,
        )
