"""Secrets of agent files: they are in environment variables, and a file only names these."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from viva.cases.errors import Mistake
from viva.cases.yaml.lines import LineNumbers
from viva.errors import SetupError
from viva.models.keys import check_key
from viva.records.redact import SECRET_NAMES, keep_secret

_REFERENCE = re.compile(r"\$\{(?P<name>[^{}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KNOWN_KEYS = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|hf_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
"""The forms of keys that their issuers made recognizable, and of JSON Web Tokens (RFC 7519)."""
_CREDENTIAL = re.compile(
    r"(?:proxy-)?authorization|(?:set-)?cookie|password|passwd|secret|(?:.*[-_])?(?:api[-_]?key|secret|token|password)"
    r"|key|apikey",
    re.IGNORECASE,
)
"""Names whose values are credentials, of headers and of keys."""
_CARRIES = re.compile(r"auth(?!or(?!i[sz]))|key|token|secret|cookie|passw|credential", re.IGNORECASE)
"""What the names of headers and of parameters in an address have in common whose values are credentials."""
_PARAMETER = re.compile(r"[?&;]([^?&;=#]*)=$")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Digest)\s+", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^\s/?#@]*:[^\s/?#@]+@")
SHORTEST = 8
"""Minimum length of a literal that is taken for a credential because of its name."""


def expand(text: str, where: str, path: Sequence[str | int] = ()) -> str:
    """Return a text in which the values of environment variables have taken the place of `${NAME}`.

    The values are removed from errors and replies if what holds them carries credentials, or if they may be keys.

    Args:
        text: The text.
        where: Its place, for messages.
        path: What leads to it in its file: the name of a header shows what its value is.

    Raises:
        SetupError: a variable is not set, or its value cannot be sent.
    """
    carries = _SCHEME.match(text.lstrip()) is not None or _carries_credentials(path, text)

    def value(reference: re.Match[str]) -> str:
        check_variable(reference["name"], where)
        parameter = _PARAMETER.search(text[: reference.start()])
        sent = carries or (parameter is not None and _CARRIES.search(parameter[1]) is not None)
        return secret(reference["name"], where, credential=sent)

    return _REFERENCE.sub(value, text)


def _carries_credentials(path: Sequence[str | int], text: str) -> bool:
    """Return whether what `path` leads to is a header, or a key, whose name says that its value is a credential."""
    name = path[-1] if path else ""
    if not isinstance(name, str):
        return False
    if "headers" in path[:-1]:
        return _CARRIES.search(name) is not None
    # Of more than the value of one variable, a part may be the path of a file that holds the key.
    return _CREDENTIAL.fullmatch(name) is not None and _REFERENCE.fullmatch(text.strip()) is not None


def secret(variable: str, where: str, *, credential: bool) -> str:
    """Return the value of an environment variable, and have it removed from errors and replies if it may be a key.

    Args:
        variable: The name of the variable.
        where: Its place, for messages.
        credential: Whether it is sent as a credential, and so is a key, whatever its name and its form are.

    Raises:
        SetupError: the variable is not set or empty, or its value cannot be sent.
    """
    value = os.environ.get(variable)
    if not value:
        raise SetupError(f"{where}: the environment variable {variable} is not set. Set it: export {variable}=…")
    check_key(value, variable)
    # Whatever its name says, a value is removed that is a key by its form; a port or a host's name is neither.
    if credential or SECRET_NAMES.search(variable) or _KNOWN_KEYS.search(value) or _is_random(value):
        keep_secret(value, credential=credential)
    return value


def check_variable(name: str, where: str) -> None:
    """Check that a text is the name of an environment variable.

    Raises:
        SetupError: it is not; the message does not contain it, because it may be the key itself.
    """
    if not _VARIABLE.fullmatch(name) or _KNOWN_KEYS.search(name):
        raise SetupError(
            f"{where}: this is not the name of an environment variable. Write the name of the one that holds the key, "
            "as in MY_AGENT_KEY; the key itself does not belong into a file."
        )


def literal_secrets(data: Any, lines: LineNumbers) -> Iterator[Mistake]:
    """Yield a mistake for each text in a file that looks like a key or a password."""
    for path, text in _texts(data, ()):
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        if _KNOWN_KEYS.search(text) or (_CREDENTIAL.fullmatch(name) and _is_literal(text)):
            words = "looks like a key; put it into an environment variable, and write ${NAME} (or key_env: NAME) here"
            yield Mistake(f"{name} {words}", lines.of(*path))
        elif _PASSWORD.search(text):
            words = "contains a password in an address; put it into an environment variable, and send it in a header"
            yield Mistake(f"{name} {words}", lines.of(*path))


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, (*path, str(name)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, (*path, index))


def _is_literal(text: str) -> bool:
    """Return whether a value is written out, and is not a reference, a template, or a path to a field of an answer."""
    bare = _SCHEME.sub("", text.strip())
    return "${" not in bare and "{{" not in bare and (_SCHEME.match(text.strip()) is not None or _is_random(bare))


def _is_random(text: str) -> bool:
    return (
        len(text) >= SHORTEST
        and not any(letter.isspace() for letter in text)
        and any(letter.isdigit() for letter in text)
        and any(letter.isalpha() for letter in text)
        and "." not in text
        and "/" not in text
    )
