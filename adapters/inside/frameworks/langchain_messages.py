"""Reads LangChain's messages, and the answer in what a graph or a runnable returns."""

from __future__ import annotations

from typing import Any

from .wrapper import as_text

_ANSWERS = ("output", "answer", "response", "result", "text")


def message_text(message: Any) -> str:
    """Return the text of a message, whose content may be a list of blocks."""
    content = getattr(message, "content", message)
    if isinstance(content, list):
        parts = [block if isinstance(block, str) else _block_text(block) for block in content]
        return "".join(part for part in parts if part)
    return as_text(content)


def thought_in(message: Any) -> str | None:
    """Return the model's reasoning in a message."""
    extra = getattr(message, "additional_kwargs", None) or {}
    if isinstance(found := extra.get("reasoning_content"), str) and found:
        return found
    content = getattr(message, "content", None)
    blocks = content if isinstance(content, list) else ()
    parts = [
        str(block.get("thinking") or block.get("reasoning") or "")
        for block in blocks
        if isinstance(block, dict) and block.get("type") in ("thinking", "reasoning")
    ]
    return "\n".join(part for part in parts if part) or None


def answer_in(result: Any, form: Any) -> str:
    """Return the answer in the result of a graph or a runnable.

    Args:
        result: What it returned.
        form: How it was given the message, by `langchain.input_form`.

    Raises:
        ValueError: it has several fields, and none of them is known to be the answer.
    """
    if not isinstance(result, dict):
        return message_text(result)
    if result.get("messages"):
        text = message_text(result["messages"][-1])
        return text or as_text(result.get("structured_response"))
    asked = form[1] if isinstance(form, tuple) else None
    fields = [name for name in result if name != asked and not name.startswith("__")]
    named = [name for name in _ANSWERS if name in fields]
    if named or len(fields) == 1:
        return message_text(result[(named or fields)[0]])
    raise ValueError(
        f"it returned the fields {', '.join(map(str, result)) or '(none)'}, and none is known to be the answer; put a "
        "function after it that picks it: `graph | RunnableLambda(lambda state: state['summary'])`"
    )


def _block_text(block: Any) -> str:
    return str(block.get("text") or "") if isinstance(block, dict) and block.get("type") == "text" else ""
