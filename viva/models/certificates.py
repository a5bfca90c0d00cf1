"""The certificates that HTTP clients trust, which are read once."""

from __future__ import annotations

import functools
import os
import ssl
from types import ModuleType


def trusted_certificates(library: ModuleType) -> ssl.SSLContext:
    """Return the certificates that clients trust. Reading them takes 35 ms, in which every conversation stands still.

    Args:
        library: The HTTP library of the client, httpx or its successor.
    """
    return _read(library, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.cache
def _read(library: ModuleType, *_environment: str | None) -> ssl.SSLContext:
    context: ssl.SSLContext = library.create_ssl_context()
    return context
