"""What a golden expects of the agent: what must and must not happen, and which tools are called."""

from __future__ import annotations

from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.points import check_point, does_not_happen, expected_call, is_checkable, tool_called
from viva.interchange.drafts.spelling import entries, field
from viva.interchange.ledger import Gap
from viva.interchange.source import Source


def add_expectations(draft: CaseDraft, golden: Source) -> None:
    """Add the points of a golden's expectations and tools."""
    expectations = field(golden, "expectations")
    must, must_not = field(expectations, "must"), field(expectations, "must_not")
    draft.points += [str(each.take()).strip() for each in entries(must) if each.is_text]
    draft.points += [does_not_happen(str(each.take()).strip()) for each in entries(must_not) if each.is_text]
    if any(entries(must)) or any(entries(must_not)):
        # All of them decide together: one that is missed fails the golden.
        draft.fields["threshold"] = 1
    model, mode = field(expectations, "model"), field(expectations, "eval_mode")
    if model is not None:
        model.report(Gap.NEEDS_A_PERSON, "name the model that judges on the command line: --judge-model")
    if mode is not None:
        mode.report(Gap.NO_HOME, "Viva's judge answers hit, miss or unsure")
    _tools(draft, field(golden, "expected_tools"))


def _tools(draft: CaseDraft, tools: Source | None) -> None:
    if tools is None or not tools.is_list:
        return
    calls = [_call(each) for each in tools.elements()]
    for call in filter(is_checkable, calls):
        point = check_point(tool_called(call["tool"], call["arguments"], times=calls.count(call)))
        if point not in draft.points:
            draft.points.append(point)
    if calls:
        draft.reference = calls


def _call(tool: Source) -> dict[str, Any]:
    name, arguments = field(tool, "name"), field(tool, "input_parameters")
    for other in ("description", "reasoning", "output"):
        value = field(tool, other)
        if value is not None:
            value.report(Gap.NO_HOME, "an expected call has a tool and arguments")
    kind = field(tool, "type")
    if kind is not None:
        kind.express("check: tool_called")
    return expected_call(name, arguments)
