"""Makes an evaluator of a class, a function or an object, and refuses what could not judge before an exam begins."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from viva.adapters.inside.raised import Home
from viva.adapters.part_errors import describe_part, home_of_part, module_of, unwrapped
from viva.adapters.tasks import never_waits
from viva.errors import SetupError
from viva.judge.signatures import (
    SHAPE,
    accepted,
    check_judges,
    defaults_of,
    is_judging_function,
    parameters_of,
)
from viva.plugins.parameters import is_literal, parameters_in_words

OWN = "viva.judge."
"""What the modules of Viva's own evaluators begin with."""
NAME = "name"
"""The parameter that every evaluator has: its name in reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedEvaluator:
    """An evaluator that is ready to judge."""

    name: str
    """Its name in reports and journals."""
    evaluate: Callable[..., Any]
    """Takes the transcript and the context, and returns a judgement; plain or async."""
    own_name: str
    """The name that it has in its own code, and may write into its insights."""
    own: bool
    """Whether it is one of Viva's own, which limit each of their waits."""
    needs: frozenset[str] = frozenset()
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Hashes of its prompts, by name."""
    parameters: str = ""
    """Its parameters in words, for the setting: `words=3`."""
    instant: bool = False
    """Whether it judges without waiting for anything, so that it needs no task of its own."""
    home: Home | None = None
    """The place of its code, so that the line of an exception can be found."""
    is_async: bool = False
    """Whether `evaluate` is a coroutine function; one that is not may still return something awaitable."""
    never_waits: bool = False
    """Whether `evaluate` is a coroutine function without anything to await."""


def load_evaluator(spec: str, thing: Any, given: Mapping[str, Any], offered: Mapping[str, Any]) -> LoadedEvaluator:
    """Make an evaluator.

    Args:
        spec: Its name in messages.
        thing: A class, a function that judges, a function that makes an evaluator, or an evaluator.
        given: The parameters that the user gave; `name` is its name in reports.
        offered: The arguments that it gets if it accepts them.

    Raises:
        SetupError: it is no evaluator, has a wrong signature or another parameter, or cannot be created.
    """
    if not callable(thing) and not has_evaluate(thing):
        raise SetupError(f"{spec!r} is not an evaluator: it is of type {type(thing).__name__}. {SHAPE}")
    given = dict(given)
    title = given.pop(NAME, None) if NAME not in parameters_of(thing) else given.get(NAME)
    if title is not None and (not isinstance(title, str) or not title.strip()):
        raise SetupError(f"the name of the evaluator {spec!r} must be a text.")
    made, parameters = _made(spec, thing, given, offered)
    evaluate = made.evaluate if has_evaluate(made) else made
    check_judges(spec, evaluate)
    own_name = name_of(made)
    return LoadedEvaluator(
        name=title or own_name,
        evaluate=evaluate,
        own_name=own_name,
        own=is_own(made),
        needs=as_needs(getattr(made, "needs", getattr(thing, "needs", ()))),
        prompts=getattr(made, "prompts", {}),
        parameters=parameters_in_words(parameters),
        instant=is_own(made) and getattr(made, "instant", False) is True,
        home=home_of_part(made),
        is_async=inspect.iscoroutinefunction(evaluate),
        never_waits=never_waits(evaluate),
    )


def check_evaluator(spec: str, thing: Any, given: Mapping[str, Any], offered: Mapping[str, Any]) -> None:
    """Check what can be known about an evaluator before it is created; the arguments are those of `load_evaluator`.

    Raises:
        SetupError: it is not an evaluator, or has a wrong signature or another parameter.
    """
    is_class = inspect.isclass(thing)
    if not is_class and (not callable(thing) or has_evaluate(thing) or is_judging_function(thing, {*given, *offered})):
        load_evaluator(spec, thing, given, offered)
        return
    accepted(spec, thing, {name: value for name, value in given.items() if name != NAME}, offered, judges=False)
    if is_class and inspect.isfunction(method := inspect.getattr_static(thing, "evaluate", None)):
        check_judges(spec, partial(method, None))


def parameters_of_all(evaluators: Iterable[LoadedEvaluator]) -> dict[str, str]:
    """Return the parameters of evaluators in words, by name; those without parameters are left out."""
    return {each.name: each.parameters for each in evaluators if each.parameters}


def has_evaluate(thing: object) -> bool:
    """Return whether something is an evaluator's class or an evaluator, and not a function."""
    return callable(getattr(thing, "evaluate", None))


def name_of(evaluator: object) -> str:
    """Return an evaluator's name: its `name`, else that of its class or function in snake_case."""
    name = getattr(evaluator, NAME, None)
    if isinstance(name, str) and name.strip():
        return name
    function = unwrapped(evaluator)
    written = getattr(function, "__name__", None) or type(evaluator).__name__
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", written)
    return words.strip("_<>").lower() or written


def parameters_of_object(evaluator: object) -> dict[str, Any]:
    """Return the parameters of an evaluator that a Python program made: literals under the names of its parameters."""
    if is_own(evaluator):
        return {}
    if isinstance(evaluator, partial):
        found = {**defaults_of(evaluator), **evaluator.keywords}
    else:
        found = {name: _attribute(evaluator, name) for name in parameters_of(type(evaluator)) if name != NAME}
    return _literals(found)


def _made(spec: str, thing: Any, given: Mapping[str, Any], offered: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return an evaluator or a function that judges, and its parameters."""
    if not inspect.isclass(thing) and has_evaluate(thing):
        if given:
            raise SetupError(f"{spec!r} is an object, which takes no parameters: name its class.")
        return thing, parameters_of_object(thing)
    if is_own(thing) and (option := next((name for name in given if name in offered), None)):
        raise SetupError(f"{spec!r}: {option!r} is set by the options of the command, not by a parameter.")
    judges = not inspect.isclass(thing) and is_judging_function(thing, {*given, *offered})
    keywords = accepted(spec, thing, given, offered, judges=judges)
    known = dict(given)
    if not is_own(thing):
        defaults = {name: value for name, value in defaults_of(thing).items() if name not in {*keywords, NAME}}
        known |= _literals(defaults)
    if judges:
        return (partial(thing, **keywords) if keywords else thing), known
    return _created(spec, thing, keywords), known


def _created(spec: str, factory: Any, keywords: Mapping[str, Any]) -> Any:
    try:
        made = factory(**keywords)
    except SetupError:
        raise
    except (Exception, SystemExit) as error:
        words = describe_part(error, factory)
        raise SetupError(f"the evaluator {spec!r} cannot be created: {words}") from error
    if not inspect.isclass(made) and (has_evaluate(made) or callable(made)):
        return made
    if inspect.iscoroutine(made):
        made.close()
    if inspect.isclass(factory):
        raise SetupError(f"{spec!r} is not an evaluator: it has no evaluate(transcript, context) method. {SHAPE}")
    returned = f"it takes no transcript and no context, and returned {type(made).__name__} when it was called"
    raise SetupError(f"{spec!r} is not an evaluator: {returned}. {SHAPE}")


def _attribute(thing: object, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # a property that the user defined
        return None


def _literals(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None and is_literal(value)}


def as_needs(needs: Any) -> frozenset[str]:
    """Return declared needs as a set; one alone may be a text.

    Raises:
        SetupError: they are not texts.
    """
    found = (needs,) if isinstance(needs, str) else tuple(needs) if isinstance(needs, Iterable) else (needs,)
    if not all(isinstance(each, str) for each in found):
        raise SetupError(f"`needs` must be names such as 'model', and not {needs!r:.80}.")
    return frozenset(found)


def is_own(thing: object) -> bool:
    """Return whether a class, a function or an evaluator is one of Viva's own."""
    return module_of(thing).startswith(OWN)
