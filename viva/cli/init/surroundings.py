"""Detects the kind of agent at an address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

from viva.adapters.connectors.http.connector import check_url
from viva.adapters.connectors.http.keys import NO_KEY, key_for
from viva.errors import SetupError

CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
DOCUMENT = "/openapi.json"
EXAMPLE = "http://HOST:PORT/… (or https://…)"
REFUSED = "connection refused"
SECONDS, MOST_BYTES = 10.0, 4 << 20


@dataclass(frozen=True, slots=True)
class FoundAddress:
    """What is at an address."""

    kind: str
    """`card` (A2A), `openapi`, or `models` (the OpenAI protocol)."""
    base: str
    document: Mapping[str, Any]


def look_at(url: str) -> FoundAddress:
    """Find out what an address is: that of a document or an agent card, or of a server that has one.

    Raises:
        SetupError: the address is not one, or nothing there says what it is.
    """
    root = _root(url)
    tried: list[str] = []
    near = url.rstrip("/")
    for candidate in dict.fromkeys(
        (url, f"{near}/models", near + DOCUMENT, *(root + path for path in (*CARDS, DOCUMENT)))
    ):
        document = _read(candidate, tried)
        if (kind := _kind(document)) is not None:
            assert isinstance(document, dict)
            base = url.rstrip("/") if kind == "models" else _base(kind, document, candidate, root)
            return FoundAddress(kind, base, document)
    if all(REFUSED in words for words in tried):
        raise SetupError(
            f"nothing listens at {urlsplit(url).netloc}. Start the agent, or correct the address in --url."
        )
    closed = any(words.endswith((": 401", ": 403")) for words in tried)
    hint = " If it requires a key, set VIVA_AGENT_API_KEY." if closed else ""
    raise SetupError(
        f"nothing at {url} says what it is: no agent card, no OpenAPI document (JSON), no OpenAI-compatible models. "
        f"Tried {'; '.join(tried)}.{hint} Write an agent file by hand: `viva docs http`."
    )


def _root(url: str) -> str:
    """Return the address of the server alone.

    Raises:
        SetupError: it is not an address, or has a password.
    """
    check_url(url, "the address in --url", EXAMPLE)
    if not url.isascii() or any(each.isspace() or not each.isprintable() for each in url):
        raise SetupError(
            "the address in --url is not one: write %20 for a blank, and encode other characters likewise."
        )
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _read(url: str, tried: list[str]) -> object:
    try:
        request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 (the scheme was checked)
        if (key := key_for(url)) != NO_KEY:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            document: object = json.loads(answer.read(MOST_BYTES))
    except HTTPError as error:
        tried.append(f"{url}: {error.code}")
        error.close()
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        tried.append(f"{url}: {REFUSED if isinstance(reason, ConnectionRefusedError) else reason}")
    except HTTPException:
        tried.append(f"{url}: no answer in HTTP")
    except (ValueError, RecursionError):
        tried.append(f"{url}: no JSON")
    else:
        tried.append(f"{url}: other JSON")
        return document
    return None


def _kind(document: object) -> str | None:
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("paths"), dict) and "openapi" in document:
        return "openapi"
    if "skills" in document and "name" in document:
        return "card"
    return "models" if isinstance(document.get("data"), list) and document.get("object") == "list" else None


def _base(kind: str, document: Mapping[str, Any], found_at: str, root: str) -> str:
    if kind == "card":
        return found_at.partition("/.well-known/")[0]
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    address = first.get("url")
    if not isinstance(address, str):
        return root
    variables = first.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict):
            address = address.replace(f"{{{name}}}", str(variable.get("default", "")))
    try:
        base = urljoin(found_at, address).rstrip("/")
        _root(base)
    except (SetupError, ValueError):
        return root  # nothing can be sent to such an address; the document came from this server
    return root if "{" in base else base
