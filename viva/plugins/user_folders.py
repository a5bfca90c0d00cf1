"""Imports modules that lie beside a user's file or in the current folder, for the user's own code only.

These folders are not on `sys.path`: Viva's libraries look for optional modules, and must not find a file that happens
to lie in the folder in which somebody opens a stranger's journal.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import CodeType, FrameType, ModuleType

from viva.plugins.old_names import TOPS

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In a checkout, some of Viva's packages are links to folders beside it.
_VIVAS = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in (_PACKAGE, *(os.path.join(_PACKAGE, name) for name in TOPS))
    if os.path.isdir(folder)
)
_INSTALLED = {"site-packages", "dist-packages"}


class _UserFolders(MetaPathFinder):
    """Finds top-level modules in the folders of users' files, for imports that code in these folders executes."""

    def __init__(self) -> None:
        self.folders: dict[str, tuple[str, ...]] = {}
        """For each folder of a user's code, the folders that its imports search."""
        self.asked: str | None = None
        """The module that Viva itself imports at present because a user named it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module in the folders that the importing code may search; see PEP 451."""
        if path is not None:  # below a package, which knows where its modules are
            return None
        file = _importing_file()
        folders = self.folders.get(os.getcwd(), ()) if name == self.asked else self._of(file)
        found = PathFinder.find_spec(name, list(folders)) if folders else None
        if found is None or not _is_vivas(found):
            return found
        # A user may work in a checkout, whose folders are modules of `viva` only, and hide a file beside them.
        files = (os.path.join(folder, f"{name}.py") for folder in folders)
        beside = next(filter(os.path.isfile, files), None)
        return None if beside is None else spec_from_file_location(name, beside)

    def _of(self, file: str) -> tuple[str, ...]:
        """Return the folders that the code of a file searches: those of the innermost folder that holds it."""
        path = os.path.realpath(file)
        if path.startswith(_VIVAS) or _INSTALLED.intersection(path.split(os.sep)):
            return ()
        own = [folder for folder in self.folders if path.startswith(os.path.join(folder, ""))]
        return self.folders[max(own, key=len)] if own else ()


class _BeforeVivas(MetaPathFinder):
    """Finds users' modules with the names of folders at the top of Viva's checkout, which may be on the path."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a user's module of such a name; a folder without `__init__.py` does not count."""
        return users_module(name) if path is None and name in TOPS else None


def _is_vivas(found: ModuleSpec) -> bool:
    return found.origin is not None and os.path.realpath(found.origin).startswith(_VIVAS)


_FOLDERS = _UserFolders()
_BEFORE = _BeforeVivas()


def let_import(folder: str) -> None:
    """Let code in a folder import modules of this folder and of the current one, after all installed modules."""
    here = os.path.realpath(os.getcwd())
    for own in (os.path.realpath(folder), here):
        searched = (*_FOLDERS.folders.get(own, (own,)), os.path.realpath(folder), here)
        _FOLDERS.folders[own] = tuple(dict.fromkeys(searched))
    if _FOLDERS not in sys.meta_path:
        sys.meta_path.insert(0, _BEFORE)
        sys.meta_path.append(_FOLDERS)


def users_module(name: str) -> ModuleSpec | None:
    """Return the user's module that the present import statement means, if it is in the user's code; else None."""
    found = _FOLDERS.find_spec(name, None)
    return found if found is not None and found.loader is not None else None


def is_users_import() -> bool:
    """Return whether the present import statement is in the code of a user's folder."""
    return bool(_FOLDERS._of(_importing_file()))


@contextlib.contextmanager
def asking_for(module: str) -> Iterator[None]:
    """Let Viva import a module of the current folder that a user named, within the context."""
    before, _FOLDERS.asked = _FOLDERS.asked, module.partition(".")[0]
    try:
        yield
    finally:
        _FOLDERS.asked = before


def _importing_file() -> str:
    """Return the file whose code executes the present import statement, seen from an importer."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_importer(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


def _is_importer(code: CodeType) -> bool:
    return code.co_name == "find_spec" or code.co_filename == __file__ or "importlib" in code.co_filename
