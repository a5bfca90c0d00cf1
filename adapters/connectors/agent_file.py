"""Agent files: `--agent FILE.yaml` names a connector and gives it keys, which are checked like those of a case."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from viva.adapters.connectors.file_secrets import check_variable, expand, literal_secrets, secret
from viva.adapters.connectors.key_mistakes import key_mistakes
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.spec import agent_label
from viva.cases.errors import CaseError, Mistake
from viva.cases.yaml.lines import LineNumbers, read_yaml
from viva.errors import SetupError

MOST_BYTES = 256 * 1024
"""Maximum size of an agent file."""


class ConnectorKeys(BaseModel):
    """The keys of an agent file. A connector that takes more declares a subclass with a field for each of its own.

    Unknown keys are errors, also in models that fields hold, if these are subclasses of `KeyGroup`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    connector: str = ""
    """The connector's name, or the import string of one; empty for a short SPEC."""
    name: str | None = Field(default=None, min_length=1, max_length=100)
    """The agent's name among the participants of a conversation. The default is the file's name without its ending."""
    version: str | None = Field(default=None, min_length=1, max_length=200, coerce_numbers_to_str=True)
    """The agent's version, which the record keeps."""


class KeyGroup(BaseModel):
    """A mapping inside of an agent file, with keys of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


K = TypeVar("K", bound=ConnectorKeys)
K_co = TypeVar("K_co", bound=ConnectorKeys, covariant=True)


@dataclass(frozen=True, slots=True)
class AgentFile(Generic[K_co]):
    """The keys that a connector is given: those of a file, or the few that a short SPEC such as `cmd:…` stands for."""

    spec: str
    """The SPEC, as given by the user."""
    folder: Path
    """The absolute folder to which paths in the keys are relative: the file's, or the current one for a short SPEC."""
    keys: K_co
    file: Path | None = None
    """The file; None for a short SPEC."""
    lines: LineNumbers = field(default_factory=LineNumbers)

    @property
    def label(self) -> str:
        """Return the agent's name: the key `name`, or what the SPEC says."""
        return self.keys.name or agent_label(self.spec)

    def where(self, *path: str | int) -> str:
        """Return the place of a key for messages: the file and the line, or the SPEC."""
        if self.file is None:
            return repr(self.spec)
        line = self.lines.of(*path)
        return f"{self.file}:{line}" if line else str(self.file)

    def mistake(self, message: str, *path: str | int) -> SetupError:
        """Return the error for a mistake in what `path` leads to, with its place."""
        return SetupError(f"{self.where(*path)}: {message}")

    def expanded(self, text: str, *path: str | int) -> str:
        """Return a text in which the values of environment variables have taken the place of `${NAME}`.

        The values are removed from errors and replies if they are keys: by their form, by their variable's name, or
        because `path` leads to what carries credentials, such as the header Authorization.

        Raises:
            SetupError: a variable is not set, or its value cannot be sent.
        """
        return expand(text, self.where(*path), path)

    def secret(self, variable: str, *path: str | int) -> str:
        """Return the key in an environment variable, which is removed from errors and replies.

        Raises:
            SetupError: the variable is not set, or its value cannot be sent.
        """
        check_variable(variable, self.where(*path))
        return secret(variable, self.where(*path), credential=True)

    @staticmethod
    def of_spec(spec: str, keys: K) -> AgentFile[K]:
        """Return what a short SPEC stands for, so that a connector reads both in one way."""
        return AgentFile(spec, Path.cwd(), keys)


class FileConnector(Protocol):
    """A connector that can also be given its keys by an agent file. It is found by the file's key `connector`."""

    keys: ClassVar[type[ConnectorKeys]]
    """The keys that it takes."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Turn a short SPEC into an agent, as every connector does."""
        ...

    def load_file(self, file: AgentFile[Any], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Turn checked keys into an agent, and find every further mistake in them before the first exam.

        Args:
            file: The keys (`file.keys` is an object of the class `keys`), and what helps to read them.
            isolate: As for `Connector.load`.
            memory_mb: As for `Connector.load`.

        Raises:
            SetupError: the user must change something. `file.mistake` makes one with the file and line.
        """
        ...


@dataclass(frozen=True, slots=True)
class UncheckedFile:
    """An agent file that was read, and whose connector is known; its keys were not checked."""

    spec: str
    file: Path
    data: dict[Any, Any]
    lines: LineNumbers
    digest: str
    """The first 12 hex digits of the file's SHA-256, for `LoadedAgent.digest`."""

    @property
    def connector(self) -> str:
        """Return the connector that the file names."""
        return str(self.data["connector"])

    @property
    def folder(self) -> Path:
        """Return the absolute folder of the file."""
        return self.file.absolute().parent

    def mistake(self, message: str, *path: str | int) -> SetupError:
        """Return the error for a mistake in what `path` leads to, with its place."""
        return SetupError(str(CaseError(self.file, [Mistake(message, self.lines.of(*path))])))

    def with_keys(self, keys: type[ConnectorKeys], settings: dict[str, Any]) -> UncheckedFile:
        """Return the file with other values of keys, and remove these from `settings`.

        Args:
            keys: The keys that the connector takes.
            settings: Values by key; `options.temperature` is the key of a mapping.
        """
        data = copy.deepcopy(self.data)
        for name in list(settings):
            first, *path = name.split(".")
            if first not in keys.model_fields or first == "connector":
                continue
            holder, key = data, first
            for following in path:
                inner = holder.setdefault(key, {})
                if not isinstance(inner, dict):
                    inner = holder[key] = {}
                holder, key = inner, following
            holder[key] = settings.pop(name)
        return replace(self, data=data)

    def checked(self, keys: type[K]) -> AgentFile[K]:
        """Return the file with its keys.

        Raises:
            SetupError: a key is unknown, missing or wrong. The error holds every mistake, with its line.
        """
        try:
            found = keys.model_validate(self.data)
        except ValidationError as error:
            wrong = key_mistakes(error, keys, self.data, self.lines)
            raise SetupError(str(CaseError(self.file, wrong))) from None
        return AgentFile(self.spec, self.folder, found, self.file, self.lines)


def read_agent_file(spec: str) -> UncheckedFile:
    """Read an agent file, whose keys are then checked by its connector's declaration.

    Raises:
        SetupError: there is no such file, it is no mapping in YAML that is safe to read, it names no connector, a key
            occurs twice, or it contains a secret.
    """
    file = Path(spec)
    if not file.is_file():
        raise SetupError(f"there is no agent file {spec}.")
    try:
        data, lines, raw = read_yaml(file, "agent file", MOST_BYTES)
    except CaseError as error:
        raise SetupError(str(error)) from None
    if not isinstance(data, dict):
        raise SetupError(
            f"{file}: is not a mapping of keys; it begins with `connector: NAME`. See `viva docs agent-files`."
        )
    wrong = [Mistake(f"{key!r} is a duplicate key", line) for key, line in lines.duplicates]
    if not isinstance(data.get("connector"), str) or not data["connector"]:
        wrong.append(Mistake("connector is missing: say how the agent is reached, as in `connector: http`", 1))
    wrong += literal_secrets(data, lines)
    if wrong:
        raise SetupError(str(CaseError(file, wrong)))
    return UncheckedFile(spec, file, data, lines, hashlib.sha256(raw).hexdigest()[:12])
