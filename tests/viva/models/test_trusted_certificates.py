"""Clients of models and agents read the trusted certificates once."""

from __future__ import annotations

import ssl

import pytest

from viva.models.bounded_http import BoundedHttp


async def test_clients_share_the_certificates_that_the_environment_names(
    one_certificate: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    original = ssl.SSLContext.load_verify_locations

    def noted(self: ssl.SSLContext, *arguments: object, **named: object) -> None:
        made.append((arguments, named))
        original(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", noted)
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    for _ in range(3):
        await BoundedHttp().aclose()
    assert len(made) <= 1
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at-all.pem")
    with pytest.raises(FileNotFoundError):
        BoundedHttp()
