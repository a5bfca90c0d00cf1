"""Evaluates a check: over which rounds, and how checks inside of others add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from viva.cases.checks.data import (
    ActionCheck,
    AnyCheck,
    CheckNode,
    CheckScope,
    CombinedCheck,
    FileCheck,
    NegatedCheck,
    StateCheck,
    TextCheck,
)
from viva.judge.checks.actions import check_action
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.files import read_named
from viva.judge.checks.found import MOST_EVIDENCE, CheckFound, unknown
from viva.judge.checks.looked_at import Allowance, FoundInText, WrittenText
from viva.judge.checks.texts import check_text
from viva.judge.evidence import FILE
from viva.records.verdict import Evidence, Label

CHECK_COST = 200
"""As how many characters each check counts that is made in each round."""
MOST_GOT = 3
"""Maximum number of findings that are told of several checks."""
LONGEST_GOT = 1_500
"""Maximum number of characters of what a check tells of the agent's words."""
CUT = "only the first part of what there is was inspected"
Place = int | Literal["usual", "conversation"]
"""Where a check is made: in the round at a place, in the whole conversation, or where its kind usually is."""


def evaluate_check(node: CheckNode, conversation: CheckedConversation, round_number: int | None = None) -> CheckFound:
    """Return what became of a check.

    Args:
        node: The check.
        conversation: The conversation, with the workspace that the agent left.
        round_number: The number of the round that the check is about, where it does not say itself.
    """
    if round_number is not None and node.over is None:
        node = CheckNode(node.check, CheckScope("round", round_number))
    run = _Run(conversation)
    found = run.node(node, "usual")
    # Signs that no font has are written as codes of ten characters each.
    got = found.got if len(found.got) <= LONGEST_GOT else f"{found.got[: LONGEST_GOT - 1]}…"
    if found.label is Label.UNSURE and run.allowance.cut:
        got = f"{got} ({CUT})"
    return CheckFound(found.label, got, found.evidence, found.assumed)


class _Run:
    """One evaluation, with what it may still inspect."""

    def __init__(self, conversation: CheckedConversation) -> None:
        self._conversation = conversation
        self.allowance = Allowance()

    def node(self, node: CheckNode, place: Place) -> CheckFound:
        """Return what became of a check at a place, unless it says itself where it is made."""
        if node.over is None:
            return self._check(node.check, place)
        if node.over.where == "conversation":
            return self._check(node.check, "conversation")
        if node.over.where in ("any_round", "all"):
            return self._over_rounds(node.check, every=node.over.where == "all")
        if node.over.where == "last":
            last = self._conversation.last
            return unknown("no reply was recorded") if last is None else self._check(node.check, last)
        found = self._conversation.place_of(node.over.round or 0)
        if found is None:
            return unknown(f"round {node.over.round} did not take place")
        return self._check(node.check, found)

    def _over_rounds(self, check: AnyCheck, *, every: bool) -> CheckFound:
        rounds = self._conversation.rounds
        if not rounds:
            return unknown("no reply was recorded")
        decisive = Label.MISS if every else Label.HIT
        open_, last, assumed = None, None, False
        for place, each in enumerate(rounds):
            found = self._check(check, place)
            last = CheckFound(found.label, f"round {each.number}: {found.got}", found.evidence, found.assumed)
            if found.label is decisive:
                return last
            if found.label is Label.UNSURE:
                open_ = open_ or last
                if self.allowance.is_used_up:
                    break
            assumed = assumed or found.assumed
        if open_ is not None or last is None:
            return open_ or unknown("no reply was recorded")
        if every:
            return CheckFound(Label.HIT, f"in every round; {last.got}", last.evidence)
        return CheckFound(Label.MISS, f"in no round; {last.got}", last.evidence, assumed)

    def _check(self, check: AnyCheck, place: Place) -> CheckFound:
        if isinstance(check, CombinedCheck):
            return self._combined(check, place)
        if isinstance(check, NegatedCheck):
            return _opposite(self.node(check.check, place))
        if not self.allowance.spend(CHECK_COST):
            return unknown("not inspected")
        if isinstance(check, FileCheck):
            return self._file(check)
        if isinstance(check, StateCheck):
            return self._state(check, place)
        if isinstance(check, ActionCheck):
            return check_action(check, self._conversation, place if isinstance(place, int) else None, self.allowance)
        return self._text(check, place)

    def _text(self, check: TextCheck, place: Place) -> CheckFound:
        if place == "conversation":
            found = check_text(check, self._conversation.replies, self.allowance)
            return CheckFound(found.label, found.got)
        where = self._conversation.last if place == "usual" else place
        reply = None if where is None else self._conversation.reply(where)
        if where is None or reply is None:
            return unknown("no reply was recorded")
        found = check_text(check, reply, self.allowance)
        return _with_quote(found, self._conversation.rounds[where].id)

    def _state(self, check: StateCheck, place: Place) -> CheckFound:
        where = place if isinstance(place, int) else len(self._conversation.rounds) - 1
        state = self._conversation.state(where) if where >= 0 else None
        if state is None:
            return unknown("the agent's state is not known: it keeps none by save_state, or it failed in this round")
        found = check_text(check.content, state, self.allowance)
        return CheckFound(found.label, found.got)

    def _file(self, check: FileCheck) -> CheckFound:
        workspace = self._conversation.workspace
        if workspace is None and not self._conversation.is_live:
            return unknown("the agent's files are not available")
        found = None if workspace is None else read_named(workspace, check.path)
        if found is None or found.content is None:
            missing = Label.HIT if not check.exists else Label.MISS
            return CheckFound(missing, "the agent left no files" if found is None else found.words)
        if not check.exists:
            return CheckFound(Label.MISS, found.words)
        results = [self._file_text(each, found.content, check.path) for each in check.checks]
        return _all(results) if results else CheckFound(Label.HIT, found.words)

    def _file_text(self, check: TextCheck, content: WrittenText, path: str) -> CheckFound:
        if not self.allowance.spend(CHECK_COST):
            return unknown("not inspected")
        return _with_quote(check_text(check, content, self.allowance), f"{FILE}{path}")

    def _combined(self, check: CombinedCheck, place: Place) -> CheckFound:
        decisive = Label.MISS if check.needs == "all" else Label.HIT
        results: list[CheckFound] = []
        for each in check.checks:
            results.append(self.node(each, place))
            if results[-1].label is decisive and not results[-1].assumed:
                break
        return _all(results) if check.needs == "all" else _any(results)


def _with_quote(found: FoundInText, where: str) -> CheckFound:
    return CheckFound(found.label, found.got, (Evidence(where, found.quote),) if found.quote else ())


def _opposite(found: CheckFound) -> CheckFound:
    if found.label is Label.MISS:
        return CheckFound(Label.UNSURE if found.assumed else Label.HIT, found.got)
    return CheckFound(Label.MISS if found.label is Label.HIT else found.label, found.got, found.evidence)


def _all(results: Sequence[CheckFound]) -> CheckFound:
    missed = [each for each in results if each.label is Label.MISS]
    if missed:
        # One that was seen decides; what was merely not recorded does not.
        return next((each for each in missed if not each.assumed), missed[0])
    unsure = next((each for each in results if each.label is Label.UNSURE), None)
    return unsure if unsure is not None else _joined(Label.HIT, results)


def _any(results: Sequence[CheckFound]) -> CheckFound:
    for label in (Label.HIT, Label.UNSURE):
        found = next((each for each in results if each.label is label), None)
        if found is not None:
            return found
    return _joined(Label.MISS, results)


def _joined(label: Label, results: Sequence[CheckFound]) -> CheckFound:
    told = list(dict.fromkeys(each.got for each in results))
    more = f"; {len(told) - MOST_GOT} more" if len(told) > MOST_GOT else ""
    evidence = tuple(dict.fromkeys(quote for each in results for quote in each.evidence))[:MOST_EVIDENCE]
    return CheckFound(label, "; ".join(told[:MOST_GOT]) + more, evidence, any(each.assumed for each in results))
