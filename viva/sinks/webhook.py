"""The webhook sink: posts the record of each completed run to an address."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import urllib.error
import urllib.request
from email.message import Message
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

import tenacity

from viva.errors import SetupError
from viva.models.keys import checked_key
from viva.records.codec import encode
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript

TOKEN = "VIVA_WEBHOOK_TOKEN"  # noqa: S105
"""The variable with a token that is sent as `Authorization: Bearer`."""
SECONDS = 8.0
"""Maximum wait for one answer."""
ATTEMPTS = 3
REPEATED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""


class WebhookRefused(RuntimeError):
    """The server answered, but did not accept the request."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server answered {code}")
        self.code = code


class WebhookSink:
    """Posts records as JSON, as the sink `jsonl` writes them."""

    def __init__(self, address: str = "", *, wait_seconds: float = 0.5) -> None:
        """Args:
        address: `http://…` or `https://…`; a name and password in it are sent as basic authentication.
        wait_seconds: Wait before the second attempt; doubles with each.

        Raises:
            SetupError: it is not an HTTP address, or the token cannot be sent.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SetupError("the sink webhook requires an address: webhook:https://HOST/PATH.")
        host = parts.netloc.rpartition("@")[2]
        self._address = urlunsplit(parts._replace(netloc=host, fragment=""))
        self._headers = {"Content-Type": "application/json", "User-Agent": "viva"}
        if token := checked_key(TOKEN):
            self._headers["Authorization"] = f"Bearer {token}"
        elif parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_may_succeed_later),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_exponential(multiplier=wait_seconds, max=4) + tenacity.wait_random(0, wait_seconds),
            reraise=True,
        )

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Post one record; the header `Idempotency-Key` is the same for each attempt.

        Raises:
            RuntimeError: the server refused it, or could not be reached.
        """
        body = encode(record)
        try:
            await self._retrying(asyncio.to_thread, self._post, body)
        except OSError as error:
            # Its words are the system's, and never hold the address, which may be secret.
            raise RuntimeError(f"the server cannot be reached: {getattr(error, 'reason', error)}") from None

    async def close(self) -> None:
        """Nothing is kept open."""

    def _post(self, body: bytes) -> None:
        headers = {**self._headers, "Idempotency-Key": hashlib.sha256(body).hexdigest()}
        request = urllib.request.Request(self._address, body, headers, method="POST")  # noqa: S310
        try:
            with self._opener.open(request, timeout=SECONDS):
                return
        except urllib.error.HTTPError as error:
            with error:
                raise WebhookRefused(error.code) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its body, and might take the token elsewhere."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _may_succeed_later(error: BaseException) -> bool:
    return error.code in REPEATED if isinstance(error, WebhookRefused) else isinstance(error, OSError)
