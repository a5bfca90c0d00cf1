"""Makes language models from a SPEC: a shorthand, or AutoGen's component configuration. Errors never contain keys."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from viva.errors import SetupError
from viva.models.address import addresses_in, check_address
from viva.models.client import MODEL_CALLS, ModelClient
from viva.models.keys import check_key, checked_key
from viva.models.prices import LISTED, Prices
from viva.models.retry import RetryPolicy, call_seconds
from viva.records.redact import SECRET_NAMES, keep_secret, redact
from viva.regular_files import read_text

if TYPE_CHECKING:
    from viva.models.autogen.client import AutoGenModel

ADDRESS = "OPENAI_BASE_URL"
ADDRESSES = (ADDRESS, "ANTHROPIC_BASE_URL", "AZURE_OPENAI_ENDPOINT", "OLLAMA_HOST")
"""The variables from which the SDKs of providers take an address that a model file does not name."""

__all__ = ["ModelClient", "make_model"]


def make_model(
    spec: str,
    *,
    policy: RetryPolicy | None = None,
    calls: int = MODEL_CALLS,
    prices: Prices = LISTED,
    cache: str | Path | None = None,
) -> ModelClient:
    """Make a model client.

    Args:
        spec: `openai:NAME` (key from `OPENAI_API_KEY`, address from `OPENAI_BASE_URL` if set), or the path of a JSON or
            YAML file with an AutoGen component configuration (`provider`, `config`), for any provider of AutoGen.
        policy: Replaces the default retry policy.
        calls: Maximum number of concurrent calls.
        prices: The prices that the user gave.
        cache: Folder in which answers are kept; None to ask each question.

    Raises:
        SetupError: the SPEC, the key or the file is invalid, or the folder cannot be used.
    """
    kind, colon, name = spec.partition(":")
    if kind == "openai" and colon and name:
        seconds = call_seconds()
        provider = _openai(name, seconds)
        hint = "The key is OPENAI_API_KEY, the address OPENAI_BASE_URL."
    elif spec.endswith((".json", ".yaml", ".yml")):
        provider, seconds = _from_file(Path(spec))
        hint = f"The key and the address are in {spec}."
    else:
        raise SetupError(
            f"{spec!r} is not a model; write openai:NAME, or the path of a JSON or YAML file with an AutoGen component."
        )
    kept = None
    if cache is not None:
        from viva.models.cache.answers import open_cache

        kept = open_cache(cache)
    return ModelClient(
        provider,
        policy,
        seconds=seconds,
        calls=calls,
        prices=prices,
        hint=hint,
        identity=identity(spec) if kept is not None else "",
        cache=kept,
    )


def identity(spec: str) -> str:
    """Return what tells a model from others: its name, or the digest of its file, and the address.

    A file may leave the address to the environment. It may hold a password: the result is only for a digest.
    """
    if spec.startswith("openai:"):
        return f"{spec} at {os.environ.get(ADDRESS) or 'the default address'}"
    addresses = [f", {name} {url}" for name in ADDRESSES if (url := os.environ.get(name))]
    return f"file {hashlib.sha256(Path(spec).read_bytes()).hexdigest()}{''.join(addresses)}"


def _openai(name: str, seconds: float) -> AutoGenModel:
    base_url = _own_address()
    key = checked_key("OPENAI_API_KEY")
    if not key and not base_url:
        raise SetupError(
            f"openai:{name} requires a key: set OPENAI_API_KEY in the environment "
            "(and OPENAI_BASE_URL for a server of your own)."
        )
    # Imported here, after the mistakes that are known without it: it takes long.
    from viva.models.autogen.components import openai_model

    # The user's own server often requires no key; otherwise it answers 401.
    config: dict[str, Any] = {"api_key": key or "none", "max_retries": 0, "timeout": seconds}
    return openai_model(name, {**config, "base_url": base_url} if base_url else config)


def _own_address() -> str | None:
    """Return the address in OPENAI_BASE_URL; None if it is not set, or empty."""
    if url := os.environ.get(ADDRESS):
        check_address(url, ADDRESS)
    return url


def _from_file(path: Path) -> tuple[AutoGenModel, float]:
    """Return the model of a file, and the maximum time of one attempt."""
    text = read_text(path, "the model file")
    try:
        data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SetupError(f"the model file {path} cannot be read: {_without_content(error)}") from error
    if not isinstance(data, dict) or not isinstance(data.get("provider"), str):
        raise SetupError(f"{path} is not an AutoGen component: it requires the keys 'provider' and 'config'.")
    config = data["config"] = data.get("config") or {}
    if not isinstance(config, dict):
        raise SetupError(f"{path} is not an AutoGen component: its 'config' is not a mapping.")
    _keep_secrets(config, path)
    addresses = dict(addresses_in(config))
    for name, url in addresses.items():
        check_address(url, f"{name} in {path}")
    from viva.models.autogen.components import component_model, is_of_openai

    if is_of_openai(data) and not addresses:
        _own_address()  # which the SDK then takes
    seconds = call_seconds()
    if is_of_openai(data):
        # One policy does all retries; those of the SDK would multiply them and hide them from the record.
        config["max_retries"] = 0
        seconds = _timeout(config.setdefault("timeout", seconds), seconds)
    try:
        return component_model(str(config.get("model") or data["provider"]), data), seconds
    except Exception as error:
        raise SetupError(f"AutoGen cannot create a model from {path}: {_without_content(error)}") from error


def _timeout(given: object, usual: float) -> float:
    """Return the time limit of a file; AutoGen reports one that is not a number."""
    return float(given) if isinstance(given, int | float) and 0 < given < float("inf") else usual


def _keep_secrets(config: Mapping[str, Any], path: Path) -> None:
    for name, value in config.items():
        if isinstance(value, Mapping):
            _keep_secrets(value, path)
        elif isinstance(value, str) and SECRET_NAMES.search(str(name)):
            keep_secret(value)
            check_key(value, f"{name} in {path}")


def _without_content(error: Exception) -> str:
    """Return what is wrong with a model file without quoting it, because it may contain keys."""
    if isinstance(error, yaml.MarkedYAMLError):
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{error.problem or 'not YAML'}{line}"
    if isinstance(error, ValidationError):
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)]
        return redact("; ".join(faults))
    return redact(" ".join(str(error).split()))[:300]
