"""The webhook sink: posts the record of each completed run to an address."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from http.client import HTTPException, InvalidURL
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


class Poster:
    """Posts to an address. Its errors never hold the address, whose path or password may be secret."""

    def __init__(self, address: str, headers: Mapping[str, str] | None = None) -> None:
        """Args:
            address: `http://…` or `https://…`; a name and password in it are sent as basic authentication.
            headers: Sent with each request; `Authorization` takes the place of name and password.

        Raises:
            ValueError: it is not an HTTP address.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("it is not an HTTP address")
        host = parts.netloc.rpartition("@")[2]
        self._address = urlunsplit(parts._replace(netloc=host, fragment=""))
        self._headers = {"Content-Type": "application/json", "User-Agent": "viva", **(headers or {})}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers.setdefault("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, body: bytes, headers: Mapping[str, str] | None = None, *, seconds: float = SECONDS) -> None:
        """Post some JSON.

        Raises:
            WebhookRefused: the server did not accept it.
            OSError: the server cannot be reached, or its answer is not HTTP.
        """
        sent = {**self._headers, **(headers or {})}
        try:
            request = urllib.request.Request(self._address, body, sent, method="POST")  # noqa: S310
            with self._opener.open(request, timeout=seconds):
                return
        except urllib.error.HTTPError as error:
            with error:
                raise WebhookRefused(error.code) from None
        except urllib.error.URLError as error:
            raise OSError(str(error.reason)) from None
        except HTTPException as error:
            # Its words may hold the address, or whatever the server sent.
            what = "the address cannot be asked" if isinstance(error, InvalidURL) else "its answer is not HTTP"
            raise OSError(f"{what} ({type(error).__name__})") from None
        except UnicodeError:
            raise OSError("the address has characters that cannot be sent") from None


class WebhookSink:
    """Posts records as JSON, as the sink `jsonl` writes them."""

    def __init__(self, address: str = "", *, wait_seconds: float = 0.5) -> None:
        """Args:
        address: `http://…` or `https://…`; a name and password in it are sent as basic authentication.
        wait_seconds: Wait before the second attempt; doubles with each.

        Raises:
            SetupError: it is not an HTTP address, or the token cannot be sent.
        """
        token = checked_key(TOKEN)
        try:
            self._poster = Poster(address, {"Authorization": f"Bearer {token}"} if token else {})
        except ValueError:
            raise SetupError("the sink webhook requires an address: webhook:https://HOST/PATH.") from None
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
        headers = {"Idempotency-Key": hashlib.sha256(body).hexdigest()}
        try:
            await self._retrying(asyncio.to_thread, self._poster.post, body, headers)
        except OSError as error:
            raise RuntimeError(f"the server cannot be reached: {error}") from None

    async def close(self) -> None:
        """Nothing is kept open."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its body, and might take the token elsewhere."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _may_succeed_later(error: BaseException) -> bool:
    return error.code in REPEATED if isinstance(error, WebhookRefused) else isinstance(error, OSError)
