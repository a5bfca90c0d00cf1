"""Messages about mistakes in an agent's SPEC, class or object, which say what to do."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

NO_METHOD = (
    "{} has no get_reply_from_agent(message) method, so it cannot be examined{}. See `viva docs write-an-adapter`."
)
KNOWN = ", and is not one of the framework objects that need no adapter ({})"
WANTS = "{} requires {} when it is constructed; Viva passes {} by keyword. See `viva docs write-an-adapter`."

UNUSED = (
    "{} takes no setting {}: its constructor has no such parameter, and it does not use config_var.{} See "
    "`viva docs agents`."
)
PASSED = "{} cannot have the setting {}: Viva passes this argument itself, from the case."


def in_words(facts: Mapping[str, Any], module: str = "", name: str = "", suffix: str = "") -> str:
    """Return the message for the facts of a `viva.adapters.inside.rules.Setup`.

    Args:
        facts: The facts, which may come from another process.
        module: The module or file of the class, as in the SPEC.
        name: The class.
        suffix: The rest of the SPEC after the class.
    """
    if "missing" in facts:
        classes, functions = ([str(found) for found in facts.get(kind, ())] for kind in ("classes", "functions"))
        return _missing(classes, functions, module, name, suffix)
    if "no_method" in facts:
        return NO_METHOD.format(facts["no_method"], KNOWN.format(facts["known"]) if facts.get("known") else "")
    if "wants" in facts:
        return WANTS.format(facts["of"], ", ".join(facts["wants"]), ", ".join(facts["offered"]))
    if "unused" in facts:
        takes = ", ".join(facts["takes"])
        return UNUSED.format(facts["of"], ", ".join(facts["unused"]), f" It takes {takes}." if takes else "")
    if "passed" in facts:
        return PASSED.format(facts["of"], ", ".join(facts["passed"]))
    if "needs" in facts:
        return f"{name or 'the object'} in {module or 'your code'} cannot be examined as it is: {facts['needs']}."
    return (
        f"{name} in {module} is not a class or function that can make an agent, nor one of the framework "
        f"objects that need no adapter ({facts.get('known')}); it is a {facts.get('kind')}. See `viva docs agents`."
    )


def _missing(classes: Sequence[str], functions: Sequence[str], module: str, name: str, suffix: str) -> str:
    """Return what to write instead; functions may not be agents, so one must be alone or have a near name."""
    likely = classes[:1] or (functions if len(functions) == 1 else [])
    if not name:
        first = likely[0] if likely else "Class"
        return f"{module!r} does not say which class, function or object; write {module}:{first}{suffix}."
    near = (
        difflib.get_close_matches(name, classes, 1, 0.4) or difflib.get_close_matches(name, functions, 1, 0.6) or likely
    )
    hint = f" Did you mean {module}:{near[0]}{suffix}?" if near else " It has no class with get_reply_from_agent."
    return f"{module} has no {name!r}.{hint}"
