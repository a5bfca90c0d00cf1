"""Makes steps of TaskWeaver's posts and their attachments.

See `taskweaver.memory`: a `Post` goes from one role to another and has a message and a list of `Attachment`, each with
a type and a content.
"""

from __future__ import annotations

from typing import Any

from .vocabulary import Step, StepKind
from .wrapper import as_text

_THOUGHTS = ("thought", "plan_reasoning")
_PLANS = ("init_plan", "plan", "current_plan_step")
_CODE = "reply_content"
_KNOWN = (*_THOUGHTS, *_PLANS, _CODE, "execution_result", "execution_status", "code_error", "image_url")


def steps_of(posts: list[Any], before: int) -> tuple[Step, ...]:
    """Return a step for each post that a role of TaskWeaver wrote: `action` for code, otherwise `think`.

    Args:
        posts: Those of one round.
        before: How many steps earlier rounds had, so that no two have the same id.
    """
    own = [post for post in posts if str(post.send_from) != "User"]
    return tuple(_step(f"s{number}", post) for number, post in enumerate(own, before + 1))


def _step(name: str, post: Any) -> Step:
    found: dict[str, list[Any]] = {}
    for attachment in post.attachment_list:
        kind = getattr(attachment.type, "value", attachment.type)
        found.setdefault(str(kind), []).append(attachment.content)
    words = {kind: _words(contents) for kind, contents in found.items()}
    code = words.get(_CODE)
    attributes = {"send_to": str(post.send_to), **_kept(words), **_extras(post)}
    plan = "\n\n".join(f"{kind}:\n{words[kind]}" for kind in _PLANS if words.get(kind))
    common: dict[str, Any] = {
        "agent": str(post.send_from),
        "thought": "\n".join(words[kind] for kind in _THOUGHTS if words.get(kind)) or None,
        "plan": plan or None,
        "images": tuple(as_text(image) for image in found.get("image_url", ())),
    }
    if code is None:
        return Step(name, StepKind.THINK, **common, result=post.message or None, attributes=attributes)
    status = words.get("execution_status", "NONE")
    attributes["execution_status"] = status
    result = words.get("execution_result") or post.message or None
    return Step(
        name,
        StepKind.ACTION,
        **common,
        tool=words.get("reply_type") or "python",
        tool_input=code,
        result=result,
        error=_error(words, status, result),
        attributes=attributes,
    )


def _error(words: dict[str, str], status: str, result: str | None) -> str | None:
    if status == "FAILURE":
        return result or "the execution failed"
    if words.get("verification") == "INCORRECT":
        return words.get("code_error") or result or "the code was refused"
    return None


def _kept(words: dict[str, str]) -> dict[str, str]:
    """Return what has no field of a step, by type: nothing that TaskWeaver said is thrown away."""
    return {kind: text for kind, text in words.items() if kind not in _KNOWN and kind != "reply_type" and text}


def _extras(post: Any) -> dict[str, Any]:
    """Return what TaskWeaver put beside the contents of attachments, by type."""
    found: dict[str, Any] = {}
    for attachment in post.attachment_list:
        extra = getattr(attachment, "extra", None)
        if extra is not None:
            plain = extra.to_dict() if hasattr(extra, "to_dict") else extra
            found.setdefault(f"{getattr(attachment.type, 'value', attachment.type)}_extra", []).append(plain)
    return found


def _words(contents: list[Any]) -> str:
    parts = [", ".join(map(as_text, one)) if isinstance(one, (list, tuple)) else as_text(one) for one in contents]
    return "\n".join(part for part in parts if part)
