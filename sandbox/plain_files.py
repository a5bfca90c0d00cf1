"""Decides from a check's source whether it works with a layer over the workspace as it does with a copy of its own.

See `inside/layers.py` for what differs: a folder of the workspace cannot be renamed, and a file that is mapped into
memory is not seen to change. Only names that are known to do neither are allowed, so no code of an agent's may run
either: no program, no import of a module that the agent could have left, no text that is executed. What this overlooks
would be no hole in the sandbox, but an error in a check that moves a folder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from viva.sandbox.inside.conversation import HISTORY_FILE

_MODULE_NAMES = """
__future__ ast base64 bisect binascii calendar codecs collections collections.abc colorsys configparser csv dataclasses
datetime decimal difflib email enum fnmatch fractions functools glob gzip hashlib heapq html html.parser io itertools
json math os os.path pathlib random re shutil statistics string struct sys textwrap time tokenize typing unicodedata
urllib.parse uuid xml.dom.minidom xml.etree xml.etree.ElementTree zlib
"""
"""Modules of the standard library in every version of Python that a sandbox may have, which start no program."""
_OF_OS = """
F_OK R_OK W_OK X_OK access chdir close curdir environ extsep fsdecode fsencode fspath fstat getcwd getenv getpid linesep
listdir listxattr lstat makedirs mkdir name open path pathsep read readlink remove rmdir scandir sep stat unlink walk
write O_CREAT O_RDONLY O_RDWR O_WRONLY
"""
_OF_SHUTIL = "copy copy2 copyfile copyfileobj copytree disk_usage rmtree which"
_OF_SYS = "byteorder exit maxsize platform stderr stdout version version_info"
_FUNCTIONS = "__import__ breakpoint compile eval exec getattr globals load locals setattr vars"
_ATTRIBUTES = """
builtins copy_into ctypes get_field importlib modules move move_into nt os posix rename renames shutil st_dev st_ino
st_nlink subprocess sys
"""
_MODULES = frozenset(_MODULE_NAMES.split())
_PARTS = {"os": frozenset(_OF_OS.split()), "shutil": frozenset(_OF_SHUTIL.split()), "sys": frozenset(_OF_SYS.split())}
"""Modules of which only these parts are allowed."""
_NOT_USED = frozenset(_FUNCTIONS.split())
_NOT_NAMED = frozenset(_ATTRIBUTES.split())
"""Names of methods, and of modules within modules; what begins with an underscore is not allowed either."""


@lru_cache(1000)
def uses_files_plainly(code: str) -> bool:
    """Return whether a check neither renames folders nor runs anything but itself and the standard library.

    False where that is not certain, and for code that does not compile.
    """
    if HISTORY_FILE in code:  # it is put in the place of whatever the agent left there, folders included
        return False
    try:
        nodes = list(ast.walk(ast.parse(code)))
        modules = {name for node in nodes for name in _bound_to_modules(node)}
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        of_texts = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _replaces_text(node)}
        return all(_is_plain(node, modules, owners, of_texts) for node in nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _bound_to_modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _replaces_text(call: ast.Call) -> bool:
    """Return whether a call of `replace` is that of a text: a path's has one argument, and a module or class is named
    where it has two."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    is_class = name[:1].isupper() and not name.isupper()
    plain = not any(isinstance(argument, ast.Starred) for argument in call.args)
    return plain and len(call.args) in (2, 3) and name not in _PARTS and not is_class


def _is_plain(node: ast.AST, modules: set[str], owners: set[int], of_texts: set[int]) -> bool:
    """Return whether a part of the check may be there: `owners` are what attributes are taken of, `of_texts` calls."""
    if isinstance(node, ast.Import):
        # Another name for these would hide which of their parts are used.
        return all(one.name in _MODULES and not (one.asname and one.name in _PARTS) for one in node.names)
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [one.name for one in node.names]
        return (
            not node.level
            and module in _MODULES
            and all(_is_free(name) and name != "*" and name in _PARTS.get(module, (name,)) for name in names)
        )
    if isinstance(node, ast.Name):
        # A module is nothing but the owner of a name: elsewhere, nobody sees which of its parts is used.
        return id(node) in owners if node.id in modules else not node.id.startswith("__") and node.id not in _NOT_USED
    if isinstance(node, ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if node.attr == "replace":
            return id(node) in of_texts
        return _is_free(node.attr) and node.attr in _PARTS.get(owner, (node.attr,))
    return not isinstance(node, ast.MatchClass)  # it takes attributes without naming them as such


def _is_free(name: str) -> bool:
    return not name.startswith("_") and name not in _NOT_NAMED
