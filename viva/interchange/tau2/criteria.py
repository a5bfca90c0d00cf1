"""What a task expects: calls of tools, words that are said, statements, and a state of the database."""

from __future__ import annotations

from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.points import LONGEST, Point, check_point, is_checkable, tool_called
from viva.interchange.drafts.spelling import entries, text_of
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

USUAL = ("DB", "COMMUNICATE")
"""What decides where a task does not say it."""


def add_criteria(draft: CaseDraft, criteria: Source | None) -> None:
    """Add the points of a task; its parts are multiplied, so all of them have to be hit."""
    draft.fields["threshold"] = 1
    given = criteria.get("reward_basis") if criteria is not None else None
    basis = tuple(str(each.peek()) for each in entries(given)) or USUAL
    for each in entries(given):
        if each.peek() == "DB":
            why = (
                "the database is the domain's, and not in the file: compare the calls (--reference reference.json "
                "--evaluators scoring_points,match_superset), or check a file of your adapter"
            )
            each.report(Gap.NEEDS_A_PERSON, why)
        else:
            each.express("threshold: 1, and the points of this part")
    if criteria is None:
        return
    for text in entries(criteria.get("communicate_info")):
        if said := text_of(text, "check: contains"):
            draft.points.append(_said(said))
    draft.points += [str(each.take()) for each in entries(criteria.get("nl_assertions")) if each.is_text]
    _actions(draft, criteria.get("actions"), "ACTION" in basis)
    for assertion in entries(criteria.get("env_assertions")):
        assertion.report(Gap.NEEDS_A_PERSON, "is a function of the domain's environment, which is not part of the file")
        draft.mark("The source asserts something about its environment (see the report): add a check of your own.")
    if not draft.points:
        draft.mark("say what a good conversation is: what the source expects is in the database of its domain")


def _said(text: str) -> Point | str:
    if not text or len(text) > LONGEST:
        return f"The agent says: {text}"
    return check_point({"contains": {"all": text, "ignore_case": True}, "over": "any_round"})


def _actions(draft: CaseDraft, actions: Source | None, required: bool) -> None:
    calls: list[dict[str, Any]] = []
    for action in entries(actions):
        requestor, name, arguments, compared = (
            action.get(key) for key in ("requestor", "name", "arguments", "compare_args")
        )
        if requestor is not None and requestor.peek() == "user":
            action.report(Gap.NO_HOME, "is a call of the user's: the examiner talks, and has no tools of its own")
            continue
        for key in ("action_id", "info", "requestor"):
            value = action.get(key)
            if value is not None:
                value.express("a call of the reference trajectory")
        given = dict(arguments.peek()) if arguments is not None and arguments.is_mapping else {}
        if compared is not None:
            kept = compared.express("arguments that are compared")
            for key, value in arguments.items() if arguments is not None else ():
                if isinstance(kept, list) and key in kept:
                    value.take()
                else:
                    value.report(Gap.NO_HOME, "compare_args says that it is not compared")
            given = {key: value for key, value in given.items() if isinstance(kept, list) and key in kept}
        elif arguments is not None and arguments.is_mapping:
            arguments.take()
        elif arguments is not None:
            arguments.report(Gap.NO_HOME, "arguments of a call are a mapping")
        calls.append({"tool": text_of(name, "the name of a tool"), "arguments": given})
    draft.reference = calls if calls else draft.reference
    if required:
        for call in filter(is_checkable, calls):
            point = check_point(tool_called(call["tool"], call["arguments"], times=calls.count(call)))
            if point not in draft.points:
                draft.points.append(point)
