"""What a check sees of the conversation: the messages of TaskWeaver's `chat_history`, as objects and as a file.

TaskWeaver's checks begin with lines that import LangChain's message classes and `load`, and read the file. Both are
provided here without LangChain, and where a case installs LangChain, by LangChain itself.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import types
from importlib import import_module, util
from typing import Any

from viva.sandbox.inside import files

HISTORY_FILE = "eval_chat_history.json"
"""The file that TaskWeaver puts beside a check: the messages as LangChain writes them, with the closing one."""
CLOSING = "TASKFINISHED"
"""What TaskWeaver's examiner says last. TaskWeaver's checks always drop it (`[:-1]`)."""


class BaseMessage:
    """The part of LangChain's message that checks use."""

    type = "base"
    name: Any = None
    id: Any = None

    def __init__(self, content: Any = "", **more: Any) -> None:
        self.content = content
        self.additional_kwargs: Any = {}
        self.response_metadata: Any = {}
        more.pop("type", None)
        self.__dict__.update(more)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(content={self.content!r})"

    def model_dump(self, **options: Any) -> Any:
        """Return the fields."""
        fields = {"type": self.type, "name": self.name, "id": self.id}
        if self.type in ("human", "ai"):
            fields["example"] = False
        return {**self.__dict__, **{name: value for name, value in fields.items() if name not in self.__dict__}}

    def model_dump_json(self, **options: Any) -> str:
        """Return the fields as JSON."""
        return json.dumps(self.model_dump())

    def to_json(self) -> Any:
        """Return what `load` reads."""
        names = ["langchain", "schema", "messages", type(self).__name__]
        said = {name: value for name, value in self.__dict__.items() if value or name == "content"}
        return {"lc": 1, "type": "constructor", "id": names, "kwargs": {**said, "type": self.type}}

    dict = model_dump
    json = model_dump_json


class HumanMessage(BaseMessage):
    type = "human"


class AIMessage(BaseMessage):
    type = "ai"


class SystemMessage(BaseMessage):
    type = "system"


NAMES = ("BaseMessage", "HumanMessage", "AIMessage", "SystemMessage")
READERS = ("load", "loads", "dumpd", "dumps")
_STAND_INS = {
    "langchain": (
        "langchain", "langchain.schema", "langchain.schema.messages", "langchain.messages",
        "langchain.load", "langchain.load.load", "langchain.load.dump",
    ),
    "langchain_core": (
        "langchain_core", "langchain_core.messages",
        "langchain_core.load", "langchain_core.load.load", "langchain_core.load.dump",
    ),
}  # fmt: skip


def load(value: Any, **options: Any) -> Any:
    """Turn what `dumpd` returned, read from JSON, into messages again.

    Raises:
        NotImplementedError: it holds an object that is not a message.
    """
    if isinstance(value, list):
        return [load(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("lc") != 1:
        return {name: load(item) for name, item in value.items()}
    kind = (value.get("id") or [""])[-1]
    if value.get("type") != "constructor" or kind not in NAMES:
        raise NotImplementedError(f"only messages can be loaded without LangChain, not {kind!r}")
    return globals()[kind](**load(value["kwargs"]))


def loads(text: str, **options: Any) -> Any:
    """Return the messages in JSON."""
    return load(json.loads(text))


def dumpd(value: Any) -> Any:
    """Return messages as plain data."""
    return json.loads(dumps(value))


def dumps(value: Any, *, pretty: bool = False, **options: Any) -> str:
    """Return messages as JSON."""
    return json.dumps(value, default=BaseMessage.to_json, indent=2 if pretty else None, **options)


def message_classes() -> dict[str, Any]:
    """Return LangChain's own classes and readers where it is installed; elsewhere ours, importable by its names."""
    found: dict[str, Any] = {name: globals()[name] for name in (*NAMES, *READERS)}
    if util.find_spec("langchain_core") is not None:
        messages, readers = import_module("langchain_core.messages"), import_module("langchain_core.load")
        found = {name: getattr(readers if name in READERS else messages, name) for name in found}
    classes = {name: found[name] for name in NAMES}
    for package, modules in _STAND_INS.items():
        if util.find_spec(package) is not None:
            continue
        for name in modules:
            module = types.ModuleType(name)
            module.__path__ = []
            module.__dict__.update(found if ".load" in name else classes)
            sys.modules[name] = module
            parent, _, leaf = name.rpartition(".")
            if parent and not hasattr(sys.modules[parent], leaf):  # `langchain.load.load` is the function
                setattr(sys.modules[parent], leaf, module)
    return found


def names(header: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    """Return the names that are defined when a check begins."""
    role = {"system": classes["SystemMessage"], "human": classes["HumanMessage"], "ai": classes["AIMessage"]}
    return {
        "json": json,
        "load": classes["load"],
        "chat_history": [role[kind](content=content) for kind, content in header["chat_history"]],
        "rounds": header["rounds"],
        **{name: classes[name] for name in ("SystemMessage", "HumanMessage", "AIMessage")},
    }


def put_history_file(code: str, given: dict[str, Any], dumps: Any) -> None:
    """Write the conversation as a file into the working directory, for a check that names this file.

    A file of this name that the agent left is replaced, so that it cannot forge the conversation.

    Raises:
        OSError: there is no space for it.
    """
    if HISTORY_FILE not in code:
        return
    try:
        is_folder = stat.S_ISDIR(os.lstat(HISTORY_FILE).st_mode)
    except FileNotFoundError:
        pass
    else:
        if is_folder:
            files.wipe(os.path.abspath(HISTORY_FILE))
            os.rmdir(HISTORY_FILE)
        else:
            os.unlink(HISTORY_FILE)
    text = dumps([*given["chat_history"], given["AIMessage"](content=CLOSING)])
    with open(HISTORY_FILE, "x", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
