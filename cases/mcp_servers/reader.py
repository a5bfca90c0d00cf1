"""Reads the field `mcp` of a case file, and reports what is wrong with it."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from viva.cases.data_files import data_file_fault
from viva.cases.mcp_servers.server import McpServer
from viva.cases.plain_fields import PlainReader, is_number
from viva.cases.text import describe

SERVER_KEYS = tuple(field.name for field in fields(McpServer))
OFFER = "mcp_servers"
"""The key of `config_var` that tells an agent how to reach the servers."""
MOST_SERVERS = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class ServersReader(PlainReader):
    """Reads the MCP servers of a case."""

    file: Path

    def mcp(self, key: str) -> tuple[McpServer, ...]:
        """Read a list of servers."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not value or len(value) > MOST_SERVERS:
            self.add_mistake(f"{key} must be a list of 1 to {MOST_SERVERS} servers, not {describe(value)}", key)
            return ()
        given = self.data.get("config_var")
        if isinstance(given, dict) and OFFER in given:
            words = f"config_var has {OFFER!r}, which Viva sets for the servers in {key}: remove one of them"
            self.add_mistake(words, "config_var", OFFER)
        servers = [server for index, item in enumerate(value) if (server := self._server(item, key, index))]
        names = [server.name for server in servers]
        for index, name in enumerate(names):
            if name.casefold() in {other.casefold() for other in names[:index]}:
                self.add_mistake(f"{key} has two servers that are called {name!r}", key, index, "name")
        return tuple(servers)

    def _server(self, item: Any, *path: str | int) -> McpServer | None:
        if not isinstance(item, dict):
            self.add_mistake(
                f"a server must be a mapping with name, and module or command, not {describe(item)}", *path
            )
            return None
        self.check_keys(item, SERVER_KEYS, *path)
        before = len(self.mistakes)
        name, module, command = (self._text_in(item, key, *path) for key in ("name", "module", "command"))
        if name is None or not _NAME.fullmatch(name):
            words = "a server needs a name of at most 40 letters, digits, '-' and '_'"
            self.add_mistake(f"{words}, not {describe(item.get('name'))}", *path, "name")
        if (module is None) == (command is None):
            self.add_mistake("a server needs either module (a Python file of the case) or command", *path)
        listed = {key: self._texts_in(item, key, *path) for key in ("args", "env", "files")}
        if module is not None:
            self._check_file(module, *path, "module")
            if not module.endswith(".py"):
                self.add_mistake(f"module must be a Python file (.py), not {describe(module)}", *path, "module")
        for index, each in enumerate(listed["files"]):
            self._check_file(each, *path, "files", index)
        for index, each in enumerate(listed["env"]):
            if "=" in each or "\0" in each:
                self.add_mistake("env holds names of environment variables, not values", *path, "env", index)
        own = command if command is not None and os.path.dirname(command) and not os.path.isabs(command) else None
        if own is not None and os.path.normpath(own) not in map(os.path.normpath, listed["files"]):
            words = f"command {describe(command)} is a path inside the server's folder: name it in files, too"
            self.add_mistake(words, *path, "command")
        timeout = item.get("timeout")
        if timeout is not None and not is_number(timeout):
            self.add_mistake(f"timeout must be a number above 0 (seconds), not {describe(timeout)}", *path, "timeout")
        if len(self.mistakes) > before or name is None:
            return None
        return McpServer(
            name=name, module=module, command=command, timeout=None if timeout is None else float(timeout), **listed
        )

    def _check_file(self, name: str, *path: str | int) -> None:
        if (fault := data_file_fault(self.file, name)) is not None:
            self.add_mistake(f"{path[-1] if path[-1] == 'module' else 'file'} {describe(name)} {fault}", *path)
        elif path[-1] == "module" and not os.path.isfile(self.file.parent / name):
            self.add_mistake(f"module {describe(name)} is not a file", *path)

    def _text_in(self, item: dict[Any, Any], key: str, *path: str | int) -> str | None:
        value = item.get(key)
        if value is None or (isinstance(value, str) and value.strip() and "\0" not in value):
            return value
        self.add_mistake(f"{key} must be text, not {describe(value)}; put it in quotes", *path, key)
        return None

    def _texts_in(self, item: dict[Any, Any], key: str, *path: str | int) -> tuple[str, ...]:
        value = item.get(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(each, str) and "\0" not in each for each in value):
            return tuple(value)
        self.add_mistake(f"{key} must be a list of texts, not {describe(value)}; put numbers in quotes", *path, key)
        return ()
