"""Encodes an agent's reply as JSON. Any object with the fields of a Reply is one, and all its content is accepted."""

from __future__ import annotations

import datetime
import enum
import json
import os
from typing import Any

from .observed import ObservedReply
from .stand_ins import Step, Usage

_dumps = json.dumps  # bound before the agent's code runs, which might replace it


def encode(value: dict[str, Any]) -> bytes:
    try:
        return _dumps(value, ensure_ascii=False).encode()
    except (TypeError, ValueError):  # objects that JSON does not support, lone surrogates
        return _dumps(clean(value), ensure_ascii=False).encode()


def encode_reply(number: int, answer: Any) -> bytes:
    """Return the frame for one reply, or for why it is not a reply, in the words of `adapters/contract.py`."""
    if isinstance(answer, str):
        return encode({"n": number, "text": str(answer)})
    if isinstance(answer, ObservedReply):
        return encode({"n": number, "observed": clean(answer)})
    if not all(hasattr(answer, name) for name in ("text", "steps", "usage", "images")):
        return _wrong(number, f"{type(answer).__name__}, not text or a Reply")
    if not isinstance(answer.text, str):
        return _wrong(number, f"a Reply whose text is {type(answer.text).__name__}, not text")
    if not hasattr(answer.usage, "input_tokens"):
        return _wrong(number, f"a Reply whose usage is {type(answer.usage).__name__}")
    if not _are(answer.steps, lambda step: hasattr(step, "id") and hasattr(step, "kind")):
        return _wrong(number, "a Reply whose steps are not a list of Step")
    if not _are(answer.images, lambda image: isinstance(image, str)):
        return _wrong(number, "a Reply whose images are not a list of str")
    reply = {
        "text": answer.text,
        "steps": [_fields(step, Step) for step in answer.steps],
        "usage": _fields(answer.usage, Usage),
        "images": list(answer.images),
    }
    return encode({"n": number, "reply": reply})


def clean(value: Any) -> Any:
    """Convert any value to plain JSON, as `viva/records/codec.py` would store it."""
    if isinstance(value, enum.Enum):
        return clean(value.value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        joined = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {clean(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [clean(item) for item in value]
    if isinstance(value, os.PathLike):
        return clean(os.fspath(value))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if hasattr(value, "__dataclass_fields__"):
        return {name: clean(getattr(value, name)) for name in value.__dataclass_fields__}
    return clean(repr(value))


def _fields(value: Any, kind: Any) -> dict[str, Any]:
    found = {name: getattr(value, name) for name in kind.__dataclass_fields__ if hasattr(value, name)}
    if kind is Usage:
        found.setdefault("cost", None)
    if "usage" in found and hasattr(found["usage"], "input_tokens"):
        found["usage"] = _fields(found["usage"], Usage)
    return found


def _are(items: Any, test: Any) -> bool:
    return isinstance(items, (list, tuple)) and all(test(item) for item in items)


def _wrong(number: int, what: str) -> bytes:
    return encode({"n": number, "words": f"get_reply_from_agent returned {what}"})


__all__: list[str] = ["clean", "encode", "encode_reply"]
