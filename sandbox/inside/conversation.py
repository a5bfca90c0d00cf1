"""What a check sees of the conversation: the message classes of TaskWeaver's `chat_history`, without LangChain."""

from __future__ import annotations

import json
import sys
import types
from importlib import import_module, util
from typing import Any


class BaseMessage:
    """The part of LangChain's message that checks use."""

    type = "base"

    def __init__(self, content: Any = "", **more: Any) -> None:
        self.content = content
        self.additional_kwargs: dict[str, Any] = {}
        self.__dict__.update(more)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(content={self.content!r})"


class HumanMessage(BaseMessage):
    type = "human"


class AIMessage(BaseMessage):
    type = "ai"


class SystemMessage(BaseMessage):
    type = "system"


NAMES = ("BaseMessage", "HumanMessage", "AIMessage", "SystemMessage")
_STAND_INS = {
    "langchain": ("langchain", "langchain.schema", "langchain.schema.messages", "langchain.messages"),
    "langchain_core": ("langchain_core", "langchain_core.messages"),
}


def message_classes() -> dict[str, Any]:
    """Return the real classes where LangChain is installed; elsewhere ours, importable by LangChain's names."""
    classes: dict[str, Any] = {name: globals()[name] for name in NAMES}
    if util.find_spec("langchain_core") is not None:
        real = import_module("langchain_core.messages")
        classes = {name: getattr(real, name) for name in NAMES}
    for package, modules in _STAND_INS.items():
        if util.find_spec(package) is not None:
            continue
        for name in modules:
            module = types.ModuleType(name)
            module.__path__ = []
            module.__dict__.update(classes)
            sys.modules[name] = module
            parent, _, leaf = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], leaf, module)
    return classes


def names(header: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    """Return the names that are defined when a check begins."""
    role = {"system": classes["SystemMessage"], "human": classes["HumanMessage"], "ai": classes["AIMessage"]}
    return {
        "json": json,
        "chat_history": [role[kind](content=content) for kind, content in header["chat_history"]],
        "rounds": header["rounds"],
        **{name: classes[name] for name in ("SystemMessage", "HumanMessage", "AIMessage")},
    }
