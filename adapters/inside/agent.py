"""Imports the agent's module as its own interpreter would, and reads the arguments of its construction."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import os
import pathlib  # this and `pickle` here rather than where they are used, which is in each fork
import pickle
import sys
import types
from typing import Any

from .raised import LIBRARIES, text_of
from .rules import OFFERED, Setup, factory_of
from .stand_ins import VirtualUser, is_vivas


def load(path: str, name: str) -> Any:
    """Import the module at `path`, a file ending in .py or a module's name; return it and its attribute `name`.

    Raises:
        Setup: as in `rules.factory_of`; or `broken` (with the exception of the import), or `no_module`.
    """
    try:
        module = _from_file(path) if path.endswith(".py") else _from_module(path)
    except BaseException as error:
        if isinstance(error, Setup):
            raise
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        file = None if path.endswith(".py") else _file_of(path)
        line = _line(error, file or path)
        raise Setup(broken=type(error).__name__, text=text_of(error), file=file, line=line, missing=missing) from error
    return module, factory_of(module, name, VirtualUser)


def offered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the agent can be constructed with, from the request."""
    given = {name: request.get(name) for name in OFFERED}
    if given["config_var"] is not None:
        # From Viva, which this process trusts; JSON would turn YAML's dates into text.
        given["config_var"] = pickle.loads(base64.b64decode(given["config_var"]))  # noqa: S301
    if given["workspace"] is not None:
        given["workspace"] = pathlib.Path(given["workspace"])
    return given


def _from_file(path: str) -> Any:
    folder, stem = os.path.dirname(path), os.path.basename(path)[:-3]
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)  # as `python file.py` does
    _add_current_folder()
    # The folder becomes a package, so that `from .neighbour import …` works; its __init__.py is not run.
    package = types.ModuleType("viva_agent")
    package.__path__ = [folder]
    sys.modules["viva_agent"] = package
    spec = importlib.util.spec_from_file_location("viva_agent." + stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _add_current_folder() -> None:
    """Insert the current folder after the standard library but before installed packages, which may include Viva's."""
    here = os.getcwd()
    # Not Viva's checkout, whose package needs Viva's libraries.
    if here in sys.path or is_vivas(os.path.join(here, "viva", "__init__.py")):
        return
    libraries = (index for index, entry in enumerate(sys.path) if os.path.basename(entry) in LIBRARIES)
    sys.path.insert(next(libraries, len(sys.path)), here)


def _from_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())  # as `python -m name` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise Setup(no_module=name, prefix=sys.prefix) from error
        raise


def _file_of(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # of the package that it lies in
        return None
    return None if spec is None else spec.origin


def _line(error: BaseException, path: str) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
