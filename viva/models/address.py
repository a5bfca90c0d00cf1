"""Checks the address of a model's or agent's server before the first request: its form, and whether it is reached."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from viva.errors import SetupError
from viva.models.retry import NO_HOST
from viva.records.redact import redacted_line

ADDRESS_KEYS = frozenset({"base_url", "azure_endpoint", "endpoint"})
"""The names by which the configurations of AutoGen's clients call the address of a server."""
LOOK_SECONDS = 5.0
"""Maximum duration of a connection that only tests whether a server is listening."""
WAITS = (0.0, 0.5, 1.0)
"""Seconds before each of these connections; the server may have been started a moment ago."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def addresses_in(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the addresses of servers in the configuration of a component and of those within it, with their keys."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from addresses_in(value)
        elif key in ADDRESS_KEYS and isinstance(value, str) and value:
            yield key, value


def shown_address(url: str) -> str:
    """Return an address for messages, without the user, the password and the keys that it may contain."""
    # A password may itself contain :// or /, and so may what follows the host.
    _, at, rest = url.rpartition("@")
    scheme = _SCHEME.match(url)
    return redacted_line(f"{scheme[0] if at and scheme else ''}{rest}".rstrip("/"), 200)


def check_address(url: str, where: str) -> None:
    """Check that a text is the address of a server.

    Args:
        url: The text.
        where: The variable, or the place in a file, that holds it.

    Raises:
        SetupError: it has no `http://` or `https://`, or no valid host or port. The message contains no password.
    """
    shown = shown_address(url)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        raise SetupError(f"{where} is not the address of a server: {shown!r} has {_fault(error)}.") from None
    if parts.scheme not in ("http", "https"):
        bare = shown.partition("://")[2] or shown
        raise SetupError(
            f"{where} is not the address of a server: {shown!r} does not begin with http:// or https://. "
            f"Write http://{bare.lstrip('/')}, or https:// for a server with a certificate."
        )
    if not host or any(letter.isspace() or not letter.isprintable() for letter in url):
        fault = "contains white space" if host else "names no host"
        raise SetupError(f"{where} is not the address of a server: {shown!r} {fault}. Write http://HOST:PORT/v1.")


def _fault(error: ValueError) -> str:
    # The error itself may quote the whole address, with a password.
    return "an invalid host" if isinstance(error, UnicodeError) or "Port" not in str(error) else "an invalid port"


async def why_unreachable(url: str) -> str:
    """Return why no connection to a server can be made, in words; empty if one can.

    An unclear result is empty too, because the first request will show it.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if urllib.request.getproxies().get(parts.scheme) and not urllib.request.proxy_bypass(host):
        return ""  # the proxy resolves the host, not this machine
    wrong = ""
    for wait in WAITS:
        await asyncio.sleep(wait)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
            return ""
        except socket.gaierror as error:
            if error.errno in NO_HOST:
                return f"there is no host {host!r}"
            wrong = f"the name server cannot resolve {host!r} now"
        except ConnectionRefusedError:
            wrong = f"nothing listens at {host}:{port}"
        except OSError as error:
            # Several addresses of one host were tried, and asyncio has put their errors into one text.
            if f"[Errno {errno.ECONNREFUSED}]" not in str(error):
                return ""
            wrong = f"nothing listens at {host}:{port}"
        except (UnicodeError, TimeoutError):
            return ""
    return wrong
