"""Reads an agent card, and finds the address at which the agent is talked to: on the host that the user named."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from a2a.client import A2ACardResolver
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH

from viva.errors import AgentError
from viva.records.redact import redact, redacted_line

OLD_PATH = "/.well-known/agent.json"
"""Where agents of the first versions have their card."""
DEFAULT_PORTS = {"http": 80, "https": 443}


async def read_card(http: Any, url: str, card_path: str | None) -> Any:
    """Read the card of an agent.

    Args:
        http: The client.
        url: The agent's address.
        card_path: Where its card is; the usual places without it.

    Raises:
        A2AClientError: there is no card, or it cannot be read.
    """
    resolver = A2ACardResolver(http, url)
    if card_path is not None:
        return await resolver.get_agent_card(card_path)
    try:
        return await resolver.get_agent_card(AGENT_CARD_WELL_KNOWN_PATH)
    except Exception as error:
        if getattr(error, "status_code", None) != 404:
            raise
        try:
            return await resolver.get_agent_card(OLD_PATH)
        except Exception:
            raise error from error.__cause__


def keep_to_host(card: Any, url: str, endpoint: str | None) -> None:
    """Change the addresses in a card so that they are on the host that the user named, and leave out all others.

    A card often holds the name that the agent has for itself, such as 0.0.0.0 or localhost.

    Args:
        card: The card.
        url: The address that the user named.
        endpoint: The address that the user trusts instead of what the card says.

    Raises:
        AgentError: all addresses in the card are on other hosts, which must not get the key.
    """
    others = []
    for interface in list(card.supported_interfaces):
        if endpoint is not None:
            interface.url = endpoint
        elif (here := _on_host(interface.url, url)) is not None:
            interface.url = here
        else:
            others.append(interface.url)
            card.supported_interfaces.remove(interface)
    if not card.supported_interfaces:
        there = redacted_line(", ".join(others), 200) or "no address"
        raise AgentError(
            f"the agent's card at {redact(url)} leads to {there}, and not to the host that --agent names. If you trust "
            "it, name it in an agent file with `connector: a2a`: endpoint: ADDRESS"
        )


def _on_host(address: str, url: str) -> str | None:
    """Return an address if it is on the user's host, by whatever name of this machine; otherwise None."""
    try:
        there, here = urlsplit(address), urlsplit(url)
        if _port(there) != _port(here) or there.scheme != here.scheme:
            return None
    except ValueError:
        return None
    if (there.hostname or "") == (here.hostname or ""):
        return address
    if _is_this_machine(there.hostname) and _is_this_machine(here.hostname):
        return there._replace(netloc=here.netloc).geturl()
    return None


def _port(address: SplitResult) -> int | None:
    return address.port or DEFAULT_PORTS.get(address.scheme)


def _is_this_machine(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
