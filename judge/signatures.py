"""Checks how an evaluator can be created and called, and describes what is wrong with file and line."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_type_hints

from viva.adapters.part_errors import unwrapped
from viva.errors import SetupError
from viva.plugins.import_strings import nearest

SHAPE = (
    "An evaluator is a function f(transcript, context), or a class with a method evaluate(self, transcript, context). "
    "See `viva docs extend`."
)
JUDGED = ("transcript", "context")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(factory: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters with which a class or function is called; empty if they cannot be found out."""
    try:
        return inspect.signature(factory).parameters
    except (ValueError, TypeError):
        return MappingProxyType({})


def defaults_of(factory: Any) -> dict[str, Any]:
    """Return the defaults of the parameters that have one."""
    parameters = parameters_of(factory).values()
    return {each.name: each.default for each in parameters if each.default is not each.empty and each.kind in _NAMED}


def is_judging_function(function: Any, known: Collection[str]) -> bool:
    """Return whether a function judges; otherwise it makes an evaluator.

    Args:
        function: The function.
        known: The names of the parameters that are given or offered; a function that makes an evaluator requires none
            but these.
    """
    return any(
        each.kind is each.VAR_POSITIONAL
        or each.name in JUDGED
        or (each.kind in _POSITIONAL and each.default is each.empty and each.name not in known)
        for each in parameters_of(function).values()
    )


def accepted(
    spec: str, factory: Any, given: Mapping[str, Any], offered: Mapping[str, Any], *, judges: bool
) -> dict[str, Any]:
    """Return the keyword arguments for a class or function: those given, and those offered that it accepts.

    An offered None does not replace a default.

    Args:
        spec: The evaluator's name in messages.
        factory: The class or function.
        given: The parameters that the user gave.
        offered: The other arguments that it may get.
        judges: Whether it is called with transcript and context, which are then no parameters.

    Raises:
        SetupError: it does not have a parameter, does not accept a value, or requires something else.
    """
    parameters = dict(parameters_of(factory))
    if judges:
        for name in list(parameters)[:2]:
            if parameters[name].kind in _POSITIONAL:
                del parameters[name]
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    named = {name: each for name, each in parameters.items() if each.kind in _NAMED}
    _check_known(spec, [name for name in named if name not in offered], given, None if takes_all else named)
    found = {
        name: value
        for name, value in offered.items()
        if (takes_all and not judges and name not in named)
        or (name in named and (value is not None or named[name].default is inspect.Parameter.empty))
    }
    found |= dict(_converted(spec, factory, given))
    missing = [
        name for name, each in named.items() if each.default is each.empty and name not in found and name not in JUDGED
    ]
    if missing:
        what = f"{where(factory)}{definition(factory)} requires {' and '.join(missing)}"
        call = f"{_short(factory)}({', '.join(f'{name}=…' for name in missing)})"
        raise SetupError(f"the evaluator {spec!r} cannot be created: {what}. Write {call}, or give it a default.")
    return found


def check_judges(spec: str, judge: Any) -> None:
    """Check that a function or method can be called with a transcript and a context, in this order.

    Raises:
        SetupError: it takes fewer or requires more, names them in the other order, or is an async generator.
    """
    function = unwrapped(judge)
    if inspect.isasyncgenfunction(function):
        fault = "is an async generator; return a list instead"
    else:
        try:
            signature = inspect.signature(judge)
            signature.bind(None, None)
            if not _is_swapped(signature):
                return
            fault = f"gets the transcript first; swap the parameters: def {_short(function)}({_expected(function)})"
        except ValueError:  # a function written in C, which has no signature
            return
        except TypeError:
            fault = f"must take transcript and context: def {_short(function)}({_expected(function)})"
    raise SetupError(f"the evaluator {spec!r} cannot judge: {where(judge)}{definition(function)} {fault}.")


def _is_swapped(signature: inspect.Signature) -> bool:
    """Return whether the first parameter is called `context`, or the second `transcript`: each would get the other."""
    names = [each.name for each in signature.parameters.values() if each.kind in _POSITIONAL]
    return names[:1] == [JUDGED[1]] or names[1:2] == [JUDGED[0]]


def _expected(function: Any) -> str:
    is_method = inspect.isroutine(function) and _short(function) == "evaluate"
    return ", ".join(("self", *JUDGED) if is_method else JUDGED)


def where(thing: Any) -> str:
    """Return `file.py:12: ` for a function or class that Python code defines, otherwise an empty text."""
    function = unwrapped(thing)
    if inspect.isclass(function):
        function = inspect.unwrap(function.__init__)
    code = getattr(function, "__code__", None)
    if code is None or not os.path.isabs(code.co_filename):
        return ""
    file = code.co_filename.removeprefix(os.path.join(os.getcwd(), ""))
    return f"{file}:{code.co_firstlineno}: "


def definition(thing: Any) -> str:
    """Return a function or class as its definition shows it, without annotations: `def evaluate(self, transcript)`."""
    function = unwrapped(thing)
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return _short(function)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    words = f"{_short(function)}{signature.replace(parameters=bare, return_annotation=signature.empty)}"
    if not inspect.isroutine(function):
        return words
    return f"async def {words}" if inspect.iscoroutinefunction(function) else f"def {words}"


def _short(thing: Any) -> str:
    return getattr(unwrapped(thing), "__name__", None) or type(thing).__name__


def _check_known(spec: str, names: list[str], given: Mapping[str, Any], known: Collection[str] | None) -> None:
    for name in given:
        if known is not None and name not in known:
            there = f"It takes {', '.join(names)}." if names else "It takes none."
            raise SetupError(f"the evaluator {spec!r} has no parameter {name!r}.{nearest(name, names)} {there}")


def _converted(spec: str, factory: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the given values; one that does not have the annotated type is converted, such as a text to a Path."""
    # Imported here, because hardly any evaluator has parameters.
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    hints = _hints(factory) if given else {}
    for name, value in given.items():
        try:
            adapter = TypeAdapter(hints.get(name, Any))
        except (PydanticUserError, NameError, TypeError):  # a class that pydantic does not know
            yield name, value
            continue
        try:
            adapter.validate_python(value, strict=True)
            yield name, value
        except ValidationError:
            try:
                yield name, adapter.validate_python(value)
            except ValidationError as error:
                fault = error.errors(include_url=False, include_context=False)[0]["msg"]
                raise SetupError(f"the evaluator {spec!r} does not accept {name}={value!r:.80}: {fault}.") from error


def _hints(factory: Any) -> Mapping[str, Any]:
    function = unwrapped(factory)
    try:
        return get_type_hints(function.__init__ if inspect.isclass(function) else function, include_extras=True)
    except Exception:  # an annotation that cannot be evaluated
        return {}
