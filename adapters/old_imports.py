"""Keeps `from adapters import VirtualUser` working, the form before everything was inside `viva`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from viva.adapters.inside.stand_ins import importing_line
from viva.plugins.old_names import new_name
from viva.plugins.user_folders import is_users_import, users_module

OLD = "adapters"


class _OldName(MetaPathFinder, Loader):
    """Finds `adapters` as `viva.adapters` for users' code, unless another package of this name is found first."""

    def __init__(self) -> None:
        self.loading: str | None = None
        """The real path of the file that is being loaded, or the name of the module; None after that."""
        self.lines: list[str] = []
        """`file:line` of each statement that imported the old name while the last agent was loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find `adapters`, and modules below it if it is Viva's; see PEP 451."""
        if name == OLD:
            if self.loading is None and not is_users_import():
                return None
            found = users_module(name) or PathFinder.find_spec(name)
            if found is not None and found.origin is not None and not self._is_vivas(found.origin):
                return None
            self.lines.append(importing_line())
            return ModuleSpec(name, self, origin="viva.adapters")
        if name.startswith(f"{OLD}.") and _is_new(sys.modules.get(OLD)):
            now = new_name(name)
            return None if now is None else ModuleSpec(name, self, origin=now)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module by the present one, so that no module is loaded under two names."""
        assert module.__spec__ is not None
        assert module.__spec__.origin is not None
        sys.modules[module.__name__] = importlib.import_module(module.__spec__.origin)

    def _is_vivas(self, origin: str) -> bool:
        # A file that is called `adapters.py` itself means Viva's package.
        path = os.path.realpath(origin)
        return path == self.loading or os.path.dirname(path) == os.path.dirname(os.path.realpath(__file__))


_IMPORTER = _OldName()


@contextlib.contextmanager
def old_imports(source: str) -> Iterator[list[str]]:
    """Let the file or module `source` import from `adapters` while it is loaded in this context, and whenever it runs.

    Yields:
        A list that holds, after the context, the notice to the user if there was such an import.
    """
    notices = list[str]()
    if _IMPORTER not in sys.meta_path:
        sys.meta_path.insert(0, _IMPORTER)
    _IMPORTER.loading, _IMPORTER.lines = os.path.realpath(source), []
    try:
        yield notices
    finally:
        _IMPORTER.loading = None
        # Another agent may have a package `adapters` of its own; this one's later imports find Viva's again.
        for name in [name for name in sys.modules if name == OLD or name.startswith(f"{OLD}.")]:
            if _is_new(sys.modules[name]):
                del sys.modules[name]
    notices.extend(notice(line) for line in _IMPORTER.lines[:1])


def _is_new(module: ModuleType | None) -> bool:
    return getattr(module, "__name__", "").startswith("viva.")


def notice(line: str) -> str:
    """Return the message for the user about an import from `adapters`.

    Args:
        line: `file:line` of the import statement.
    """
    return f"{line}: `adapters` is the old name of Viva's package; write `from viva import VirtualUser`"
