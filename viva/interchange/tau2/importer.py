"""Makes a case of each task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.begun import add_chat
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.personas import as_persona
from viva.interchange.drafts.spelling import entries
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.source import Source
from viva.interchange.tau2.criteria import add_criteria

TOLD = (
    ("reason_for_call", ""),
    ("known_info", "What you know: "),
    ("unknown_info", "What you do not know: "),
    ("task_instructions", ""),
)
KEPT = ("id", "issues", "required_documents", "annotations")


def recognises(source: SourceFile) -> bool:
    """Return whether a file is a list of tasks with a user's scenario."""
    if source.path.is_dir():
        return False
    tasks = _tasks(source)
    return bool(tasks) and all(task.get("user_scenario", "instructions") is not None for task in tasks)


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all tasks.

    Raises:
        SetupError: there are none.
    """
    tasks = _tasks(source)
    if not any(task.get("user_scenario") is not None for task in tasks):
        raise SetupError(f"{source.path} has no tasks of tau2: it must be a list of objects with user_scenario.")
    return [_case(task, number) for number, task in enumerate(tasks, 1)]


def _tasks(source: SourceFile) -> list[Source]:
    tree = source.tree()
    return list(entries(tree if tree.is_list else tree.get("tasks")))


def _case(task: Source, number: int) -> CaseDraft:
    identifier, purpose = task.get("id"), task.get("description", "purpose")
    title = str(identifier.peek()) if identifier is not None else f"{number:04}"
    metadata: dict[str, Any] = {}
    draft = CaseDraft(title, "")
    for name in KEPT:
        value = task.get(name)
        if value is not None:
            metadata[name] = value.take()
    if purpose is not None and purpose.is_text:
        draft.title += f" {purpose.peek()}"
    for name, value in (task.get("description") or task).items():
        if value.path[:-1] != task.path and value.peek() is not None:
            metadata[name] = value.take()
    _scenario(draft, task, metadata)
    _state(draft, task)
    add_criteria(draft, task.get("evaluation_criteria"))
    _others(draft, task, metadata)
    draft.metadata = metadata
    return draft


def _scenario(draft: CaseDraft, task: Source, metadata: dict[str, Any]) -> None:
    persona, told = task.get("user_scenario", "persona"), task.get("user_scenario", "instructions")
    if persona is not None and persona.is_text:
        draft.fields["user"] = {"persona": as_persona(persona.take())}
    if told is not None and told.is_text:
        draft.task_description = told.take()
        return
    domain = told.get("domain") if told is not None else None
    if domain is not None and domain.is_text:
        draft.tags.append(domain.take())
    parts = []
    for name, before in TOLD:
        value = told.get(name) if told is not None else None
        if value is not None and value.is_text:
            parts.append(before + str(value.take()).strip("\n"))
    draft.task_description = "\n".join(parts) or "Have the conversation that the source describes."


def _state(draft: CaseDraft, task: Source) -> None:
    state = task.get("initial_state")
    if state is None:
        return
    history = state.get("message_history")
    if history is not None:
        add_chat(draft, history.elements())
    if draft.script:
        draft.fields["opening"] = "\n".join(draft.script)
        draft.script.clear()
    kept = {
        name: value.take() for name, value in state.items() if name != "message_history" and value.peek() is not None
    }
    if kept:
        draft.fields["state"] = kept
        why = "is given to the adapter as config_var.state, which has to set it"
        state.remark(Gap.NEEDS_A_PERSON, why)
        draft.mark("The state of the source's environment (state) is set by your adapter, or not at all.")


def _others(draft: CaseDraft, task: Source, metadata: dict[str, Any]) -> None:
    ticket, tools = task.get("ticket"), task.get("user_tools")
    if ticket is not None:
        metadata["ticket"] = ticket.take()
        ticket.report(Gap.NO_HOME, "is for an agent without a user; it is kept as metadata")
    if tools is not None:
        tools.report(Gap.NO_HOME, "the examiner talks; it has no tools of its own")
