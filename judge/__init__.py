"""Judges transcripts: evaluators, their prompts, and evidence.

`viva.judge` is this package and also the public function that judges stored conversations again, so the package can be
called: importing a package always sets it as the attribute of its parent, in place of a function of the same name.
"""

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

from viva.judge.scoring_points.scoring import ScoringPointsEvaluator

__all__ = ["ScoringPointsEvaluator"]


def _function() -> Any:
    # Imported by its name: the public functions are the uppermost layer, and this package is below them.
    return importlib.import_module("viva.api.judgements").judge


def _documentation(package: ModuleType) -> str:
    """Return what `help(viva.judge)` shows: the function with its signature, and the package."""
    function = _function()
    about = inspect.cleandoc(function.__doc__ or "")
    return f"{about}\n\nviva.judge{inspect.signature(function)}\n\n{vars(package).get('__doc__') or ''}"


class _Callable(ModuleType):
    # A package that can be called like the function of its name. `help` looks up `__doc__` at the package, which a
    # docstring of this class could not replace.
    __doc__ = property(_documentation)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Judge stored conversations again; see `viva.api.judgements.judge`."""
        return _function()(*args, **kwargs)

    @property
    def __wrapped__(self) -> Any:
        """The function, whose signature `inspect.signature` and `help` show."""
        return _function()


sys.modules[__name__].__class__ = _Callable
