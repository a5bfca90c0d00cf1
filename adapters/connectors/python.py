"""The connector to agents in Viva's own process: `package.module:Class` and `path/to/file.py:Class`."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from viva.adapters import contract_messages as mistakes
from viva.adapters.calls import describe
from viva.adapters.connectors.loaded_agent import LoadedAgent, file_digest
from viva.adapters.connectors.spec import agent_label, class_of, connector_meant
from viva.adapters.contract import check_factory, maker_of
from viva.adapters.inside import rules
from viva.adapters.inside.frameworks import KNOWN
from viva.adapters.inside.raised import home_of
from viva.adapters.old_imports import old_imports
from viva.adapters.virtual_user import VirtualUser
from viva.errors import SetupError
from viva.plugins.import_strings import import_source, raised_at
from viva.plugins.old_names import advice, hint_about


class PythonConnector:
    """Imports the class or function that makes the agent, or the function that answers for it."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `module:Class` or `file.py:Class`.

        Raises:
            SetupError: there is no such module, file or class, or it has no `get_reply_from_agent`.
        """
        source, name = class_of(spec)
        with old_imports(source) as old:
            module = _import_file(source) if source.endswith(".py") else _import_module(source, name)
        try:
            factory = rules.factory_of(module, name, VirtualUser)
        except rules.Setup as wrong:
            raise SetupError(mistakes.in_words(wrong.facts, source, name)) from None
        return LoadedAgent(
            spec,
            name,
            factory,
            rules.version(module, factory),
            home=home_of(source, module),
            notices=tuple(old),
            python=sys.executable or None,
            digest=file_digest(getattr(module, "__file__", None)),
        )


def spec_of(factory: Any) -> str:
    """Return the SPEC of a class or function object: `package.module:Class`, or `file.py:Class` for a script.

    The command line can load it by this SPEC if it is at the top level of its module.
    """
    name = getattr(factory, "__qualname__", None) or type(factory).__qualname__
    module = getattr(factory, "__module__", None) or type(factory).__module__
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if module == "__main__" and isinstance(file, str) and file.endswith(".py"):
        module = os.path.relpath(file)
    return f"{module}:{name}"


def loaded_from(factory: Any, spec: str) -> LoadedAgent:
    """Return the agent for a class or function object.

    Raises:
        SetupError: the object cannot make an agent.
    """
    given = factory
    factory = maker_of(factory)
    if not callable(factory):
        raise SetupError(
            f"{factory!r:.80} cannot make an agent, and each exam requires a new one: pass a class, a function that "
            f"returns an agent, or one of the framework objects that need no adapter ({KNOWN})."
        )
    check_factory(factory)
    # The class of a framework's object is in the framework, and says nothing about the agent's own code.
    module = sys.modules.get(getattr(given, "__module__", None) or "") if callable(given) else None
    home = None if module is None else home_of(module.__name__, module)
    version = rules.version(module, factory)
    digest = file_digest(getattr(module, "__file__", None))
    return LoadedAgent(
        spec, agent_label(spec), factory, version, home=home, python=sys.executable or None, digest=digest
    )


def check_file(path: Path) -> None:
    """Check that an agent's file exists.

    Raises:
        SetupError: the file does not exist; the message names the most similar one.
    """
    if not path.is_file():
        near = _nearest_file(path)
        raise SetupError(f"there is no agent file {path}." + (f" Did you mean {near}?" if near else ""))


def _import_file(source: str) -> ModuleType:
    check_file(Path(source))
    try:
        return import_source(source)
    except BaseException as error:
        raise _broken(Path(source), error) from error


def _import_module(name: str, wanted: str) -> ModuleType:
    try:
        return import_source(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SetupError(
                f"there is no module {name!r} here or in Viva's environment ({sys.prefix})."
                f"{connector_meant(name, wanted)} Agents outside of it are reached by file (path/to/file.py:Class) "
                f"or over HTTP.{advice(name)}"
            ) from error
        raise _broken(name, error) from error
    except BaseException as error:
        raise _broken(name, error) from error


def _broken(source: Path | str, error: BaseException) -> SetupError:
    if isinstance(error, KeyboardInterrupt):
        raise error
    where, at = str(source), raised_at(error, __file__)
    told = hint_about(error, at) if isinstance(error, ImportError) else ""
    if isinstance(error, ModuleNotFoundError):
        told = told or " Install it into Viva's environment, or end the SPEC with the one that has it: @/path/to/venv."
    if at is not None:
        where = f"{source}:{at[1]}" if isinstance(source, Path) else f"{source} ({at[0]}:{at[1]})"
    return SetupError(f"{where} cannot be imported: {describe(error)}.{told}")


def _nearest_file(path: Path) -> Path | None:
    if not path.parent.is_dir():
        return None
    near = difflib.get_close_matches(path.name, [file.name for file in path.parent.glob("*.py")], 1, 0.5)
    return path.parent / near[0] if near else None
