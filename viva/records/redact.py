"""Removes secrets from texts: all of them from errors and output, and keys alone from the replies of an agent.

A reply is evidence, so only what is certainly a key is removed from it, and its name takes its place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from viva.records.text import one_line, printable

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTHORIZATION|HEADERS", re.IGNORECASE)
SHORTEST = 6
"""Minimum length of a secret; shorter values occur too often in ordinary words."""
SHORTEST_KEY = 16
"""Minimum length of a key that is removed from replies; a shorter value may be a part of what the agent means."""
OWN_KEYS = frozenset({"OPENAI_API_KEY", "VIVA_AGENT_API_KEY"})
"""The variables whose keys Viva sends, also to an agent's endpoint, which may echo what it is sent."""
SHORTEST_OWN = 8
"""Minimum length of such a key, and of one in a model's file; servers of one's own are given shorter ones."""

SHORTEST_END = 4
"""Minimum length of what a cut leaves of a secret and is removed; less tells nothing, and occurs by chance."""

_SECRET_HEADERS = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_URL_SECRETS = re.compile(r"(?<=://)(?:[^\s/?#:]*+:[^\s/?#]*|[^\s/?#:@]{16,}+)(?=@)")
"""Name and password in an address (RFC 3986 3.2.1), or a token alone. What comes before the first colon is taken once
and for all: tried with every colon, a long text of them would take the square of its length."""

LOOKED_AHEAD = 16 * 1024
"""How many characters behind a cut are looked at, so that a secret that the cut is in is seen whole."""

_kept: set[str] = set()
_credentials: set[str] = set()
"""Those of the kept secrets that are sent as credentials, and so are never a path, whatever they begin with."""


def keep_secret(value: str, *, credential: bool = False) -> None:
    """Remember a secret that no variable's name shows to be one, such as a key in a model's configuration file.

    Args:
        value: The secret.
        credential: Whether it is sent as a credential: it may then begin like a path, as keys in base64 do.
    """
    if len(value.strip()) >= SHORTEST:
        _kept.add(value)
        if credential:
            _credentials.add(value)


def redact(text: str) -> str:
    """Remove the values of secret environment variables, the secrets remembered here, and passwords in addresses.

    Each is also found without the white space around it, and as Python, JSON and addresses write it.
    """
    for value, label in _secrets():
        if value in text:
            text = text.replace(value, label)
    return _URL_SECRETS.sub("[password]", text) if "://" in text else text


def redacted(text: str) -> str:
    """Return a text without secrets that is safe on a terminal. Errors pass through here before they are shown."""
    return printable(redact(text))


def redact_end(text: str, length: int, *, cut: bool = False) -> str:
    """Return the last `length` characters of a text without secrets, and without what a cut has left of one.

    Args:
        text: The text.
        length: The maximum number of characters.
        cut: Whether the beginning of the text is missing already.
    """
    if cut or len(text) > length:
        text = text[-length:]
        left = max((_end_of(value, text) for value, _ in _secrets()), default=0)
        text = text[left:]
    return redact(text)


def redact_start(text: str | bytes, length: int) -> str:
    """Return the first `length` characters of a text without secrets, and without the part of one that the cut is in.

    A text that is cut first cannot be redacted any more: what is left of a key does not match it.

    Args:
        text: The text, or its bytes.
        length: The maximum number of characters; the names of secrets that take their place are not counted.
    """
    text = _beginning(text, length)
    if len(text) <= length:
        return redact(text)
    ahead, secrets = text[: length + LOOKED_AHEAD], dict(_secrets())
    shown, at = list[str](), 0
    for found in re.finditer("|".join((*map(re.escape, secrets), _URL_SECRETS.pattern)), ahead):
        if found.start() >= length:
            break
        shown += ahead[at : found.start()], secrets.get(found.group(), "[password]")
        at = found.end()
    return "".join((*shown, ahead[at:length]))


def redacted_line(text: str | bytes, limit: int) -> str:
    """Return the beginning of what a server or a program said, in one line without secrets.

    Args:
        text: The text, or its bytes.
        limit: The maximum number of characters.
    """
    # As much as `one_line` looks at.
    read = limit * 4 + 1000
    text = _beginning(text, read)
    line = one_line(redact_start(text, read), limit)
    return line if len(text) <= read or line.endswith("…") else line[: limit - 1] + "…"


class Keys:
    """The keys that are known when this is made, for use with many texts."""

    __slots__ = ("_forms",)

    def __init__(self) -> None:
        self._forms = _key_forms()

    def hide(self, value: Any) -> Any:
        """Return text, or JSON with texts, without the keys."""
        return self._hide(value) if self._forms else value

    def _hide(self, value: Any) -> Any:
        if isinstance(value, str):
            for form, label in self._forms:
                if form in value:
                    value = value.replace(form, label)
            return value
        if isinstance(value, list):
            return [self._hide(part) for part in value]
        if isinstance(value, Mapping):
            return {self._hide(name): self._hide(part) for name, part in value.items()}
        return value


_Forms = list[tuple[str, str]]
_last: tuple[dict[Any, Any], set[str], set[str], _Forms] | None = None
"""The environment and the remembered secrets when the keys were last read, and the forms of the keys."""


def _key_forms() -> _Forms:
    """Return each form of each key, and what stands for it."""
    global _last
    # Every run asks, and comparing the environment takes a twentieth of the time of reading it.
    environment = getattr(os.environ, "_data", None) or dict(os.environ)
    if _last is None or _last[0] != environment or _last[1] != _kept or _last[2] != _credentials:
        # Copied first: what another thread adds while they are read is then seen by the next call.
        seen = dict(environment), set(_kept), set(_credentials)
        found = [(value, f"[{name}]", name in OWN_KEYS) for name, value in _variables()]
        found += [(value, "[secret]", True) for value in _kept]
        keys = [(value, label) for value, label, own in found if _is_key(value, SHORTEST_OWN if own else SHORTEST_KEY)]
        _last = *seen, _all_forms(keys)
    return _last[3]


def _secrets() -> list[tuple[str, str]]:
    """Return each form of each secret, and what stands for it."""
    values = [(value, f"[{name}]") for name, value in _variables()]
    return _all_forms([*values, *((value, "[secret]") for value in _kept)])


def _variables() -> Iterator[tuple[str, str]]:
    # By name, because reading all values takes ten times as long.
    for name in filter(_is_secret, os.environ):
        value = os.environ.get(name, "")
        if len(value) >= SHORTEST:
            yield name, value
            if "HEADERS" in name.upper():
                yield from ((name, each) for each in _secret_headers(value) if len(each) >= SHORTEST)


def _secret_headers(value: str) -> Iterator[str]:
    """Yield the secrets in a list of NAME=VALUE, percent-encoded, as the variables of OpenTelemetry have them."""
    for header in value.split(","):
        name, _, content = header.partition("=")
        if _SECRET_HEADERS.search(name):
            yield unquote(content).strip()


@cache
def _is_secret(name: str) -> bool:
    return SECRET_NAMES.search(name) is not None


def _is_key(value: str, shortest: int) -> bool:
    """Return whether a value can only be a key: long, without white space, of letters and digits, and not a path."""
    return (
        len(value.strip()) >= shortest
        and (value in _credentials or not value.startswith(("/", ".", "~")))
        and "://" not in value
        and not any(character.isspace() for character in value.strip())
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
    )


def _all_forms(secrets: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the forms of secrets, the longest first, because one may be a part of another."""
    forms = {form: label for value, label in reversed(secrets) for form in _forms(value)}
    return sorted(forms.items(), key=lambda item: -len(item[0]))


@cache
def _forms(value: str) -> tuple[str, ...]:
    """Return how a secret may be written: as it is, stripped, and as Python, JSON and addresses write it."""
    stripped = value.strip()
    # `Bearer KEY` is sent, and the provider repeats the key.
    plain = {value, stripped, " ".join(value.split()), re.sub(r"^(?:Bearer|Basic)\s+", "", stripped)}
    forms = {form for text in plain for form in (text, *_written(text))}
    return tuple(form for form in forms if len(form) >= SHORTEST)


def _written(text: str) -> Iterator[str]:
    yield repr(text)[1:-1]
    yield repr(text.encode(errors="replace"))[2:-1]
    yield json.dumps(text)[1:-1]
    yield quote(text, errors="replace")
    yield quote(text, safe="", errors="replace")
    yield quote_plus(text, errors="replace")


def _beginning(text: str | bytes, length: int) -> str:
    """Return text that is longer than `length` characters if the whole is."""
    if isinstance(text, str):
        return text
    # A character has at most four bytes.
    return text[: 4 * (length + LOOKED_AHEAD)].decode("utf-8", "replace")


def _end_of(value: str, text: str) -> int:
    """Return how many characters at the beginning of a text are the end of a secret, as after a cut within it."""
    lengths = range(len(value) - 1, SHORTEST_END - 1, -1)
    return next((length for length in lengths if text.startswith(value[-length:])), 0)
