"""The retry policy for all model calls: what is retried, how long to wait, and the text of the final error."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import tenacity

from viva.errors import ModelAnswerError, ModelError, ProtocolError, SchemaError, SetupError, WithheldError
from viva.records.redact import redact, redact_start

T = TypeVar("T")
NO_MODEL = "model_not_found"
"""The code by which servers of the OpenAI protocol say that they do not have a model, with any status."""
NO_HOST = (socket.EAI_NONAME, socket.EAI_FAIL, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
"""The errors of a name server that knows that a host does not exist; others, such as EAI_AGAIN, may pass."""
CONTENT_REFUSED = frozenset({400, 403, 413, 414, 415, 422, 451})
"""The HTTP statuses with which providers refuse a request that is too large or not accepted. With 403 they refuse keys,
too, but those do not become right if less is asked."""
FLAGGED = re.compile(
    r"requires moderation|\b(?:input|prompt|content|request)\b(?:(?!account|key).){0,40}\b(?:flagged|violates)"
    r"|content[ _-]?filter|content[ _-]policy[ _-]violation|content management policy",
    re.I,
)
"""Matches what providers say where a status of 403 is about the request, not the key or the account, such as "Your
chosen model requires moderation and your input was flagged" (OpenRouter)."""
ABOVE_QUOTA = ("request too large", "must be reduced")
"""Words of OpenAI and servers like it, in lower case, where one request alone exceeds the quota of tokens per minute.
Its status is 429, as if waiting helped. Words that name both ways out ("reduce the prompt length, or try again later",
Anthropic) are not among them, because others may have used up that quota.
"""
MOST_CAUSES = 10
"""Maximum number of exceptions that are looked at behind one."""
MOST_QUOTED = 1_200
"""Maximum number of characters at the beginning of a body that an error quotes from."""
CALL_SECONDS = 300.0
"""Default of the maximum time of one attempt, from the request to the last byte of the answer."""


def call_seconds() -> float:
    """Return the maximum time of one attempt: `VIVA_MODEL_SECONDS`, or the default.

    Raises:
        SetupError: it is not a number of seconds.
    """
    text = os.environ.get("VIVA_MODEL_SECONDS") or CALL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SetupError(f"VIVA_MODEL_SECONDS must be a number of seconds above 0, not {text!r}.")
    return seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts and the waits between them."""

    attempts: int = 6
    """Maximum number of attempts, including the first."""
    initial_seconds: float = 0.5
    """The wait before the second attempt; it doubles with each further attempt, with jitter."""
    longest_seconds: float = 30.0
    """The maximum wait, unless the provider's Retry-After requests a longer one."""
    longest_retry_after: float = 120.0
    """The maximum Retry-After; a provider that requests a longer wait counts as failed."""

    @classmethod
    def from_environment(cls) -> RetryPolicy:
        """Return the policy with `VIVA_MODEL_ATTEMPTS` and `VIVA_MODEL_WAIT` (seconds before the second attempt)."""
        usual = cls()
        try:
            return cls(
                attempts=max(1, int(os.environ.get("VIVA_MODEL_ATTEMPTS", usual.attempts))),
                initial_seconds=max(0.0, float(os.environ.get("VIVA_MODEL_WAIT", usual.initial_seconds))),
            )
        except ValueError as error:
            raise SetupError(f"VIVA_MODEL_ATTEMPTS and VIVA_MODEL_WAIT must be numbers: {error}") from error


async def with_retries(
    call: Callable[[], Awaitable[T]], policy: RetryPolicy, retried: Callable[[BaseException], None] | None = None
) -> T:
    """Call a provider until it answers, and return the answer.

    Args:
        call: Makes one attempt.
        policy: The number of attempts and the waits.
        retried: Called with each failure that is followed by another attempt.

    Raises:
        ModelAnswerError: the provider's answer is not usable; the caller decides whether to ask again.
        ModelError: the provider refused, or still failed at the last attempt.
    """

    try:
        return await call()
    except (ModelError, ModelAnswerError):
        raise
    except Exception as error:
        if not is_transient(error, policy):
            raise _translated(error) from error
        first: Exception | None = error

    async def again() -> T:
        # tenacity takes 45 us per call, a quarter of a round, so the first attempt is made without it.
        nonlocal first
        if first is not None:
            failed, first = first, None
            raise failed
        return await call()

    def before_sleep(state: tenacity.RetryCallState) -> None:
        fault = state.outcome.exception() if state.outcome is not None else None
        if retried is not None and fault is not None:
            retried(fault)

    doubling = tenacity.wait_exponential(multiplier=policy.initial_seconds, max=policy.longest_seconds)
    jitter = tenacity.wait_random(0, policy.initial_seconds)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = retry_after(error) if error is not None else None
        return min(policy.longest_seconds, doubling(state) + jitter(state)) if asked is None else asked

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: is_transient(error, policy)),
        stop=tenacity.stop_after_attempt(policy.attempts),
        wait=wait,
        before_sleep=before_sleep,
        reraise=True,
    )
    try:
        return await retrying(again)
    except (ModelError, ModelAnswerError):
        raise
    except Exception as error:
        raise _translated(error) from error


def _translated(error: Exception) -> Exception:
    unusable = unusable_answer(error)
    if unusable is None:
        return ModelError(explain(error))
    kinds = {"ValidationError": SchemaError, "ContentFilterFinishReasonError": WithheldError}
    return kinds.get(type(error).__name__, ModelAnswerError)(unusable)


def is_transient(error: BaseException, policy: RetryPolicy) -> bool:
    """Return whether the same call may succeed a little later.

    It may after certain statuses (408, 409, 429 unless the request alone exceeds a quota, 5xx), after a dropped or
    refused connection (but not if the address is invalid or its host does not exist), and after a body that does not
    follow the protocol: a proxy's error page with status 200, or incomplete JSON, for which SDKs raise plain
    TypeErrors.
    """
    if cannot_change(error):
        return False
    status = status_of(error)
    if status is not None:
        if is_above_quota(error) or (status == 429 and getattr(error, "code", None) == "insufficient_quota"):
            return False
        asked = retry_after(error)
        return (status in (408, 409, 429) or status >= 500) and (asked is None or asked <= policy.longest_retry_after)
    if isinstance(error, ProtocolError | ConnectionError | TimeoutError | json.JSONDecodeError | AttributeError):
        return True
    name = type(error).__name__
    return name in ("APIConnectionError", "APITimeoutError", "TransportError", "RemoteProtocolError", "ReadError") or (
        isinstance(error, TypeError) and "not subscriptable" in str(error)
    )


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a provider's error, for any SDK; None if it has none."""
    for value in (getattr(error, "status_code", None), getattr(getattr(error, "response", None), "status_code", None)):
        if isinstance(value, int):
            return value
    return None


def is_refused(error: BaseException) -> bool:
    """Return whether a provider refuses the key, the model or the address, so that the next call would fail as well."""
    return is_key_refused(error) or status_of(error) == 404 or getattr(error, "code", None) == NO_MODEL


def is_key_refused(error: BaseException) -> bool:
    """Return whether a provider refuses the key, as far as its status and its words tell."""
    status = status_of(error)
    return status == 401 or (status == 403 and not FLAGGED.search(_words_of(error, status)))


def is_for_content(error: BaseException | None) -> bool:
    """Return whether a provider refused a request for what it holds: it is too long, or a filter objects to it."""
    causes = (error, getattr(error, "__cause__", None))
    return any(
        isinstance(each, WithheldError) or status_of(each) in CONTENT_REFUSED or is_above_quota(each)
        for each in causes
        if each
    )


def is_above_quota(error: BaseException) -> bool:
    """Return whether a request alone is larger than a provider's rate limit, so that only a shorter one is accepted."""
    if status_of(error) != 429:
        return False
    said = _words_of(error, 429).casefold()
    return any(words in said for words in ABOVE_QUOTA)


def cannot_change(error: BaseException) -> bool:
    """Return whether the same call would fail again.

    It would if the provider refuses the key, the model or the address, if the address is invalid, if its host does not
    exist, or if its certificate is not trusted, or there is no TLS at all behind an address with https://.
    """
    return is_refused(error) or any(
        (isinstance(each, socket.gaierror) and each.errno in NO_HOST)
        or is_no_tls(each)
        or type(each).__name__ in ("UnsupportedProtocol", "InvalidURL", "LocalProtocolError")
        for each in _causes(error)
    )


def is_no_tls(error: BaseException) -> bool:
    """Return whether no TLS connection was made, because the certificate is not trusted or the server speaks no TLS."""
    return isinstance(error, ssl.SSLCertVerificationError) or (
        isinstance(error, ssl.SSLError) and getattr(error, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def is_unreachable(error: BaseException) -> bool:
    """Return whether a call never reached a model, because it was refused or there was no connection."""
    if is_refused(error):
        return True
    causes = (error, error.__cause__, error.__context__)
    return any(type(each).__name__ in ("ConnectError", "ConnectTimeout", "ConnectionRefusedError") for each in causes)


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the provider requests to wait (RFC 9110 10.2.3: a number, or a date), or None."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def unusable_answer(error: BaseException) -> str | None:
    """Return why an answer is not usable, in words; None if the error is not about an answer."""
    name = type(error).__name__
    if name == "ContentFilterFinishReasonError":
        return "the provider's content filter withheld the answer"
    if name == "ValidationError":
        detail = getattr(error, "errors", None)
        first = detail()[0] if callable(detail) and detail() else {}
        where = ".".join(str(part) for part in first.get("loc", ()))
        return f"the answer does not fit the schema: {first.get('msg', 'invalid')}" + (f" at {where}" if where else "")
    return None


def explain(error: BaseException) -> str:
    """Return a provider's error in one line without secrets, with what to do if that is known."""
    status = status_of(error)
    name = type(error).__name__
    text = redact(" ".join(_words_of(error, status).split()))[:300]
    if status == 401:
        return f"the provider refused the key (401). Set the right one in the environment. {text}"
    if is_key_refused(error):
        return f"the provider refused the key, or this request (403). Set the right key in the environment. {text}"
    if status == 404:
        return f"no such model or address there (404); most addresses end in /v1. {text}"
    if is_above_quota(error):
        return f"the request is larger than the provider's rate limit (429). {text}"
    if status == 429:
        return f"the provider still limits the rate (429), or the quota is used up. {text}"
    if name == "APITimeoutError" or isinstance(error, TimeoutError):
        return "the provider did not answer in time"
    if name == "APIConnectionError":
        if no_tls := next((each for each in _causes(error) if is_no_tls(each)), None):
            return _without_tls(no_tls)
        cause = error.__cause__
        return f"the provider cannot be reached ({redact(str(cause or error) or type(cause or error).__name__)[:250]})"
    if status is None and isinstance(error, ProtocolError):
        return f"the response does not follow the protocol: {text}"
    if status is None and isinstance(error, ValueError | AttributeError | TypeError | LookupError | RecursionError):
        return f"the provider's response does not follow the protocol ({name}: {text}); most addresses end in /v1"
    return f"{name}: {text}"


def _words_of(error: BaseException, status: int | None) -> str:
    """Return an error's text; the SDK leaves out a body unless it is JSON with a `message`."""
    words = str(error)
    if words != f"Error code: {status}":
        return words
    body = getattr(getattr(error, "response", None), "content", b"")
    return f"{words} - {redact_start(body, MOST_QUOTED)}" if body else words


def _without_tls(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate is not trusted ({error.verify_message}). If it is your own, name "
            "the file of its authority in SSL_CERT_FILE."
        )
    return "the server does not speak TLS, which https:// requires. Write http:// if it has no certificate."
