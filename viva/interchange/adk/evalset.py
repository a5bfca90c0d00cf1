"""Reads eval sets: each eval case becomes a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.interchange.adk.criteria import Criteria, rubric_point
from viva.interchange.adk.turns import read_turn
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.personas import as_persona
from viva.interchange.drafts.points import state_point
from viva.interchange.drafts.spelling import entries, field, text_of
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

PERSONAS = {
    "EXPERT": "You know exactly what you want, use the agent as a tool, and have little patience for small talk. You "
    "correct the agent, and help it once after a failure.",
    "NOVICE": "You do not fully understand your problem, rely on the agent's guidance, and answer its questions "
    "patiently. You can neither correct it nor help it after a failure.",
    "EVALUATOR": "You want to find out whether the agent reaches what you want. You give details when asked, say only "
    "what matters, and do not correct the agent.",
}
"""ADK's personas, in Viva's words."""
SCENARIO = ("starting_prompt", "conversation_plan", "user_persona")


def is_evalset(document: Any) -> bool:
    """Return whether plain data looks like an eval set, an older one, or a file of scenarios."""
    if isinstance(document, dict):
        if any(isinstance(document.get(key), list) for key in ("eval_cases", "evalCases")):
            return True
        scenarios = document.get("scenarios")
        first = scenarios[0] if isinstance(scenarios, list) and scenarios else None
        return isinstance(first, dict) and ("starting_prompt" in first or "startingPrompt" in first)
    older = document[0] if isinstance(document, list) and document else None
    return isinstance(older, dict) and ("query" in older or isinstance(older.get("data"), list))


def read_evalset(root: Source, criteria: Criteria) -> Iterator[CaseDraft]:
    """Yield the cases of an eval set.

    Args:
        root: The document.
        criteria: What counts.
    """
    shared: dict[str, Any] = {}
    for name in ("eval_set_id", "name", "description", "creation_timestamp"):
        value = field(root, name) if root.is_mapping else None
        if value is not None:
            shared[name if name.startswith("eval") else f"set_{name}"] = value.take()
    for case in _cases(root):
        draft = _case(case, shared, criteria)
        if draft.task_description or draft.script:
            yield draft
        else:
            case.report(Gap.NEEDS_A_PERSON, "nothing in it is said to the agent, so it is not a case")


def _cases(root: Source) -> Iterator[Source]:
    if root.is_mapping:
        yield from entries(field(root, "eval_cases"))
        yield from entries(root.get("scenarios"))
    elif root.get(0, "query") is not None:
        yield root
    else:
        yield from root.elements()


def _case(case: Source, shared: dict[str, Any], criteria: Criteria) -> CaseDraft:
    name = field(case, "eval_id") or field(case, "name")
    title = text_of(name, "the name of the case") or "case"
    draft = CaseDraft(title, "")
    metadata: dict[str, Any] = {"eval_id": title, **shared}
    draft.metadata = metadata
    scenario = field(case, "conversation_scenario") or (case if field(case, "starting_prompt") else None)
    if scenario is not None:
        _scenario(draft, scenario, criteria)
    turns = field(case, "conversation") or field(case, "data") or (case if case.is_list else None)
    calls: list[dict[str, Any]] = []
    for number, turn in enumerate(entries(turns), 1):
        calls += read_turn(draft, turn, number, criteria)
    if draft.script:
        draft.fields["max_rounds"] = len(draft.script)
        draft.reference = calls
    for rubric in entries(field(case, "rubrics")):
        draft.points.append(rubric_point(rubric))
    _session(draft, case, metadata)
    draft.points += criteria.points
    if criteria.threshold is not None:
        draft.fields["threshold"] = criteria.threshold
    return draft


def _scenario(draft: CaseDraft, scenario: Source, criteria: Criteria) -> None:
    first, plan, persona = (field(scenario, name) for name in SCENARIO)
    if (opening := text_of(first, "opening")).strip():
        draft.fields["opening"] = opening
    draft.task_description = text_of(plan, "task_description").strip() or "Have the conversation that you began."
    if persona is not None:
        draft.fields["user"] = {"persona": _persona(persona, draft)}
    if criteria.rounds is not None:
        draft.fields["max_rounds"] = criteria.rounds


def _persona(persona: Source, draft: CaseDraft) -> str:
    if not persona.is_mapping:
        name = str(persona.express("user: persona, in Viva's words"))
        if name not in PERSONAS:
            draft.mark(f"The persona {name} is defined in the source's program: describe it in user.")
        return PERSONAS.get(name, f"You are like this: {name}")
    texts: list[str] = []
    identifier, description = field(persona, "id"), field(persona, "description")
    if identifier is not None:
        draft.metadata["persona"] = identifier.take()
    texts.append(text_of(description, "user: persona"))
    for behavior in entries(field(persona, "behaviors")):
        both = field(behavior, "name"), field(behavior, "description")
        words = ": ".join(text for each in both if (text := text_of(each, "user: persona")))
        told = [text_of(each, "user: persona") for each in entries(field(behavior, "behavior_instructions"))]
        texts.append("\n".join((words, *(f"- {line}" for line in told))))
        rules = field(behavior, "violation_rubrics")
        if rules is not None:
            rules.report(Gap.NO_HOME, "the evaluator `exam` judges the examiner's conduct by rules of its own")
    return as_persona("\n".join(text for text in texts if text.strip())) or "A user of the agent."


def _session(draft: CaseDraft, case: Source, metadata: dict[str, Any]) -> None:
    session = field(case, "session_input") or field(case, "initial_session")
    state = field(session, "state")
    if session is not None:
        about = {key: each.take() for key, each in session.items() if state is None or each.path != state.path}
        if kept := {key: value for key, value in about.items() if value not in (None, {}, "")}:
            draft.fields["config_var"] = {"session_input": kept}
    if state is not None and state.is_mapping and state.peek():
        draft.fields["state"] = state.take()
        state.remark(Gap.NEEDS_A_PERSON, "is given to the adapter as config_var.state, which has to set it")
    elif state is not None and not state.is_mapping:
        state.report(Gap.NO_HOME, "a state is a mapping")
    final = field(case, "final_session_state")
    if final is not None and final.peek():
        point = state_point(final)
        if point is None:
            metadata["final_session_state"] = final.take()
            draft.mark("The source expects a state at the end (metadata.final_session_state): add a check: state.")
        else:
            draft.points.append(point)
            final.remark(Gap.NEEDS_A_PERSON, "check: state needs an adapter that returns the state of its session")
    created = field(case, "creation_timestamp")
    if created is not None:
        metadata["creation_timestamp"] = created.take()
