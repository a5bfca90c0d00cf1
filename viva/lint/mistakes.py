"""Says what to change about what `viva cases check` finds in a case that loads."""

from __future__ import annotations

import re

_ADVICE = (
    (r"is not replaced", "write the name that 'for' counts, add a 'for', or leave the braces out"),
    (r"asserts what is true|cannot fail|reaches no assert", "assert something that a bad answer does not fulfil"),
    (r"is not defined|not defined; did you mean", "correct the spelling, or define or import the name above this line"),
    (r"before it has a value", "give it a value above this line"),
    (r"\.content$", "compare the .content of the entry"),
    (r"a round has no such key", "use one of these keys"),
    (r"no such attribute", "remove or rename the attribute"),
    (r"it can never pass", "remove the exit, and assert what must hold"),
    (r"is never told, but is in", "remove it there, or give the fact another 'when'"),
    (r"is also fact", "remove one of the two"),
    (r"step \d+ does not exist", "name a step that the task has, or add it to the task"),
    (r"is never reached: max_rounds", "raise max_rounds, or tell the fact with an earlier step"),
    (r"lacks this fact", "add it to the opening, or give the fact another 'when'"),
    (r"the opening tells this fact", "remove it from the opening, or give the fact when: start"),
    (r"messages in all", "lower times, or raise max_rounds"),
    (r"goal repeats scoring point", "write what the examiner tries to get, not what is judged"),
)
OTHERWISE = "change this line so that the message no longer applies"


def with_advice(message: str) -> tuple[str, str]:
    """Return what is wrong, and what to change.

    Args:
        message: The message; what follows its first semicolon is already advice.
    """
    words, _, advice = message.partition("; ")
    if advice and not advice.startswith("did you mean"):
        return words, advice
    found = next((said for pattern, said in _ADVICE if re.search(pattern, message)), OTHERWISE)
    return words, f"{advice} Otherwise, {found}" if advice else found
