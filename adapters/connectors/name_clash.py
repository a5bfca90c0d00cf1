"""Detects Python modules in a user's folder that have the names of Viva's own packages.

In Viva's own process, such a name refers to Viva's package, so an agent would import the wrong one.
"""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path

from adapters.connectors.spec import class_of
from adapters.inside.raised import PACKAGES
from adapters.inside.stand_ins import is_vivas


def find_clash(spec: str) -> Path | None:
    """Return the first module or package with a name of Viva's, in the folder of an agent's file or the current folder.

    A folder without Python code (for example of case files) does not count, and neither do Viva's own packages.

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
    """Return the file or folder that `import name` would import if it searched this folder first."""
    # A separate finder, because those of the import system cache the contents of folders.
    finder = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES))
    spec = finder.find_spec(name)
    if spec is None:
        return None
    if spec.origin is not None and spec.loader is not None:
        return Path(spec.origin)
    # Python also accepts a folder without `__init__.py` as a package, but only one with modules can be intended.
    try:
        with os.scandir(folder / name) as entries:
            return folder / name if any(entry.name.endswith(".py") for entry in entries) else None
    except OSError:
        return None
