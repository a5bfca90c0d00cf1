"""Finds the key of an agent's endpoint: OpenAI's own key is sent only to OpenAI's own address."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from viva.models.keys import checked_key

NO_KEY = "none"
"""What the SDK sends if there is no key, because it requires one."""


def key_for(url: str) -> str:
    """Return the key for an address: `VIVA_AGENT_API_KEY`, or OpenAI's own for its own address, or `none`.

    Raises:
        SetupError: the key cannot be sent.
    """
    if key := checked_key("VIVA_AGENT_API_KEY"):
        return key
    try:
        own = urlsplit(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    except ValueError:  # a mistake in the address of a model, which this agent does not use
        return NO_KEY
    asked = urlsplit(url)
    if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
        return checked_key("OPENAI_API_KEY") or NO_KEY
    return NO_KEY
