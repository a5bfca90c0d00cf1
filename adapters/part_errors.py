"""Describes an exception of a user's part (evaluator, sink, connector…) with file and line in the part's code."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from typing import Any

from viva.adapters.calls import describe
from viva.adapters.inside.raised import Home, home_of


def describe_part(error: BaseException, part: object) -> str:
    """Return the description of an exception that a part raised: `my_sinks.py:12: KeyError: 'x'`.

    Args:
        error: The exception.
        part: The object, class or function whose code raised it.
    """
    return describe(error, home_of_part(part))


def home_of_part(part: object) -> Home | None:
    """Return where the code of an object, class or function is; None if its module has no file."""
    name = module_of(part)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or not isinstance(file, str):
        return None
    # A file that was imported by its path has a made-up module name.
    return home_of(file if name.startswith("viva_file_") else name, module)


def module_of(part: object) -> str:
    """Return the name of the module that defines an object's class, a class, or a function."""
    function = unwrapped(part)
    return getattr(function, "__module__", None) or type(part).__module__


def unwrapped(part: Any) -> Any:
    """Return the function inside of partial objects, bound methods and decorators; anything else as it is."""
    while True:
        if isinstance(part, partial):
            part = part.func
        elif inspect.ismethod(part):
            part = part.__func__
        else:
            return inspect.unwrap(part) if inspect.isfunction(part) else part
