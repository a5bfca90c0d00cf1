"""Puts what is wrong with an agent's SPEC, class or object into words that say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

NO_METHOD = "{} has no get_reply_from_agent(message) method, so it cannot be examined. See docs/write-an-adapter.md."
WANTS = "{} wants {} when it is constructed; an adapter is given {}, by name. See docs/write-an-adapter.md."


def in_words(facts: Mapping[str, Any], place: str = "", name: str = "", suffix: str = "") -> str:
    """What to say of the facts of an `adapters.inside.rules.Setup`.

    Args:
        facts: Perhaps from another process.
        place: The module or file where the class should be, as the user gave it.
        name: The class.
        suffix: What follows it in the SPEC.
    """
    if "missing" in facts:
        return _missing([str(found) for found in facts["classes"]], place, name, suffix)
    if "no_method" in facts:
        return NO_METHOD.format(facts["no_method"])
    if "wants" in facts:
        return WANTS.format(facts["of"], ", ".join(facts["wants"]), ", ".join(facts["offered"]))
    return f"{name} in {place} is not a class, so it cannot make an agent."


def _missing(classes: Sequence[str], place: str, name: str, suffix: str) -> str:
    if not name:
        first = classes[0] if classes else "Class"
        return f"{place!r} does not say which class; write {place}:{first}{suffix}."
    near = difflib.get_close_matches(name, classes, 1, 0.4) or classes[:1]
    hint = f" Did you mean {place}:{near[0]}{suffix}?" if near else " It has no class with get_reply_from_agent."
    return f"{place} has no {name!r}.{hint}"
