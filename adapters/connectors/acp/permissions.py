"""Decides what an agent may do when it asks: `--permissions allow`, `deny`, or `ask-case`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from viva.errors import SetupError

POLICIES = ("allow", "deny", "ask-case")
KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
"""The protocol's kinds of tool calls."""
ALLOW, DENY = "allow", "deny"
KEY = "permissions"
"""The key of `config_var` in which a case says what it permits."""
_PREFERRED = {ALLOW: ("allow_once", "allow_always"), DENY: ("reject_once", "reject_always")}
"""Once rather than always, so that each request is recorded."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The answers to an agent's requests for permission."""

    default: str
    by_kind: Mapping[str, str] = field(default_factory=dict)
    """Exceptions from the default, by the kind of the tool call."""

    def decide(self, kind: object) -> str:
        """Return `allow` or `deny` for a kind of tool call; a call of no known kind counts as `other`."""
        return self.by_kind.get(kind if isinstance(kind, str) and kind in KINDS else "other", self.default)

    def allows(self, kind: str) -> bool:
        """Return whether a kind of tool call is allowed."""
        return self.decide(kind) == ALLOW


def policy_of(permissions: str | None, config_var: Mapping[str, Any] | None) -> Policy:
    """Return the policy of a run.

    Args:
        permissions: One of `POLICIES`; None means `allow`.
        config_var: The case's.

    Raises:
        SetupError: the case is asked, and its `config_var` has permissions that cannot be understood.
    """
    if permissions != "ask-case":
        return Policy(permissions or ALLOW)
    said = (config_var or {}).get(KEY)
    if said is None:
        return Policy(DENY)  # a case that permits nothing
    if isinstance(said, Mapping):
        return _policy_by_kind(said)
    return Policy(_checked(said))


def choose_option(options: object, decision: str) -> str | None:
    """Return the id of the option that expresses a decision; None if the agent offers none."""
    offered = [each for each in options if isinstance(each, Mapping)] if isinstance(options, list) else []
    for kind in _PREFERRED[decision]:
        for option in offered:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return str(option["optionId"])
    return None


def _policy_by_kind(said: Mapping[Any, Any]) -> Policy:
    decisions = {str(kind): _checked(decision) for kind, decision in said.items()}
    for kind in decisions:
        if kind not in (*KINDS, "default"):
            near = difflib.get_close_matches(kind, KINDS, 1)
            meant = f"did you mean {near[0]}?" if near else f"use {', '.join(KINDS)} or default."
            raise SetupError(f"config_var: {KEY}: {kind!r} is not a kind of tool call; {meant}")
    return Policy(decisions.pop("default", DENY), decisions)


def _checked(decision: object) -> str:
    if decision not in (ALLOW, DENY):
        raise SetupError(
            f"config_var: {KEY}: {decision!r:.100} is neither {ALLOW} nor {DENY}; write one of them, or one for each "
            f"kind of tool call ({', '.join(KINDS)}; default)."
        )
    return str(decision)
