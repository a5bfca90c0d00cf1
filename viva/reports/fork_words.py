"""Says in words from where and how a conversation was continued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from viva.records.text import one_line
from viva.records.wording import counted

_BY = {
    "state": "by the stored state",
    "conversation": "by giving the agent the conversation so far",
    "replay": "by replaying the earlier rounds",
    "start": "from the start",
}


def fork_words(origin: Mapping[str, str]) -> str:
    """Return the words for one run, from `Setting.forked_from`."""
    run = one_line(origin.get("run", ""), 80)
    if origin.get("by") == "start":
        return f"{run}, from the start"
    words = f"{run} after round {one_line(origin.get('round', ''), 10)}"
    if origin.get("edited"):
        words += f" (edited: {one_line(origin['edited'], 40)})"
    words += f", {_BY.get(origin.get('by', ''), 'not reached')}"
    return words + (f" ({_differ(origin['differ'])})" if origin.get("differ", "").isdecimal() else "")


def forks_words(origins: Sequence[Mapping[str, str]]) -> str:
    """Return the words for several runs."""
    by = Counter(_BY.get(origin.get("by", ""), "not reached") for origin in origins)
    differ = sum(int(each) for origin in origins if (each := origin.get("differ", "")).isdecimal())
    words = ", ".join(f"{number} {how}" for how, number in by.items())
    return f"forked: {words}" + (f"; {_differ(str(differ))}" if differ else "")


def _differ(number: str) -> str:
    return f"{counted(int(number), 'replayed reply', 'replayed replies')} differed from the stored"
