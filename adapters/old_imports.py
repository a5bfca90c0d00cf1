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
from viva.plugins.user_folders import users_module

OLD = "adapters"


class _OldName(MetaPathFinder, Loader):
    """Finds `adapters` as `viva.adapters`, unless another package of this name is installed."""

    def __init__(self, loading: str) -> None:
        self.loading = os.path.realpath(loading)
        """The file that is being loaded, which means Viva's package even if it is called `adapters.py` itself."""
        self.lines: list[str] = []
        """`file:line` of each statement that imported the old name."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find `adapters`, and modules below it if it is Viva's; see PEP 451."""
        if name == OLD:
            found = users_module(name) or PathFinder.find_spec(name)
            if found is not None and found.origin is not None and not self._is_vivas(found.origin):
                return None
            self.lines.append(importing_line())
            return ModuleSpec(name, self, origin="viva.adapters")
        if name.startswith(f"{OLD}.") and getattr(sys.modules.get(OLD), "__name__", None) == "viva.adapters":
            now = new_name(name)
            return None if now is None else ModuleSpec(name, self, origin=now)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module by the present one, so that no module is loaded under two names."""
        assert module.__spec__ is not None
        assert module.__spec__.origin is not None
        sys.modules[module.__name__] = importlib.import_module(module.__spec__.origin)

    def _is_vivas(self, origin: str) -> bool:
        path = os.path.realpath(origin)
        return path == self.loading or os.path.dirname(path) == os.path.dirname(os.path.realpath(__file__))


@contextlib.contextmanager
def old_imports(source: str) -> Iterator[list[str]]:
    """Allow imports from `adapters` within the context, in which the file or module `source` is loaded.

    Yields:
        A list that holds, after the context, the notice to the user if there was such an import.
    """
    importer, notices = _OldName(source), list[str]()
    sys.meta_path.insert(0, importer)
    try:
        yield notices
    finally:
        sys.meta_path.remove(importer)
    notices.extend(notice(line) for line in importer.lines[:1])


def notice(line: str) -> str:
    """Return what the user is told about an import from `adapters`.

    Args:
        line: `file:line` of the import statement.
    """
    return f"{line}: `adapters` is the old name of Viva's package; write `from viva import VirtualUser`"
