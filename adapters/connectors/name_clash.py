"""Sees whether a user's folder holds Python modules called like Viva's own packages.

In Viva's own process such a name is Viva's, so an agent that means the user's would import the wrong one.
"""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path

from adapters.connectors.spec import class_of
from adapters.inside.raised import PACKAGES
from adapters.inside.stand_ins import is_vivas


def find_clash(spec: str) -> Path | None:
    """The first module or package, in the folder of an agent's file or in the current one, that has a name of Viva's.

    A folder without Python in it (one of case files, say) is none, and neither are Viva's own packages.

    Raises:
        SetupError: `spec` does not name a class.
    """
    module, _ = class_of(spec)
    folders = [Path.cwd()]
    if module.endswith(".py"):
        folders.insert(0, Path(module).absolute().parent)
    for folder in dict.fromkeys(folders):
        for name in PACKAGES:
            found = _find(folder, name)
            if found is not None and not is_vivas(str(found)):
                return found
    return None


def _find(folder: Path, name: str) -> Path | None:
    """The file that `import name` would run if it looked into this folder first, or the folder it would take."""
    # A finder of our own: those of the import system remember what a folder held a moment ago.
    finder = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES))
    spec = finder.find_spec(name)
    if spec is None:
        return None
    if spec.origin is not None and spec.loader is not None:
        return Path(spec.origin)
    # A folder without `__init__.py` is a package for Python as well, but only one with modules can be meant.
    try:
        with os.scandir(folder / name) as entries:
            return folder / name if any(entry.name.endswith(".py") for entry in entries) else None
    except OSError:
        return None
