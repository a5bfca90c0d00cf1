"""Limits how many connections to the gateway each agent holds, so that none takes the others' place."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

MOST_UNKNOWN = 256
"""Maximum number of connections that have not named a server yet; one more closes the oldest."""
MOST_OF_ONE = 100
"""Maximum number of connections to one server of one run."""

Address = tuple[str, int]


class Callers:
    """The open connections, by what they have shown to know."""

    def __init__(self) -> None:
        self._unknown: dict[Address, asyncio.Transport] = {}
        self._known: dict[Address, str] = {}
        self._counts: defaultdict[str, int] = defaultdict(int)

    def enter(self, address: Address, transport: asyncio.Transport) -> None:
        """Note a new connection, of which anybody on this machine can open any number."""
        self._unknown[address] = transport
        if len(self._unknown) > MOST_UNKNOWN:
            oldest = next(iter(self._unknown))
            self._unknown.pop(oldest).abort()

    def admit(self, address: Address, token: str) -> bool:
        """Return whether a connection may use a server that it has named."""
        if self._known.get(address) == token:
            return True
        if self._counts[token] >= MOST_OF_ONE:
            return False
        self.leave(address)
        self._known[address] = token
        self._counts[token] += 1
        return True

    def leave(self, address: Address) -> None:
        """Note that a connection has ended."""
        self._unknown.pop(address, None)
        token = self._known.pop(address, None)
        if token is not None:
            self._counts[token] -= 1
            if not self._counts[token]:
                del self._counts[token]

    def protocol(self, **options: Any) -> CallerProtocol:
        """Return the protocol of a new connection, with uvicorn's options."""
        return CallerProtocol(self, **options)


class CallerProtocol(H11Protocol):
    """One connection, which is counted."""

    def __init__(self, callers: Callers, **options: Any) -> None:
        super().__init__(**options)
        self._callers = callers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None:
            self._callers.enter(self.client, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.client is not None:
            self._callers.leave(self.client)
        super().connection_lost(exc)
