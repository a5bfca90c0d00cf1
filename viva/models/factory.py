"""Makes language models from a SPEC: a shorthand, or AutoGen's component configuration. Errors never contain keys."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from autogen_core.models import ChatCompletionClient, ModelInfo
from pydantic import ValidationError

from viva.errors import SetupError
from viva.models.cached import watch
from viva.models.client import MODEL_CALLS, Model
from viva.models.prices import LISTED, Prices
from viva.models.retry import RetryPolicy
from viva.records.redact import SECRET_NAMES, keep_secret, redact

__all__ = ["Model", "make_model"]

# For models unknown to AutoGen, the capabilities of current models are assumed; what a provider refuses is not used.
UNKNOWN_MODEL = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=True,
    multiple_system_messages=True,
)
CALL_SECONDS = 300.0
"""Default of the maximum wait for one answer of a model."""


def make_model(
    spec: str, *, policy: RetryPolicy | None = None, calls: int = MODEL_CALLS, prices: Prices = LISTED
) -> Model:
    """Make a model client.

    Args:
        spec: `openai:NAME` (key from `OPENAI_API_KEY`, address from `OPENAI_BASE_URL` if set), or the path of a JSON or
            YAML file with an AutoGen component configuration (`provider`, `config`), for any provider of AutoGen.
        policy: Replaces the default retry policy.
        calls: Maximum number of concurrent calls.
        prices: The prices that the user gave.

    Raises:
        SetupError: the SPEC, the key or the file is invalid.
    """
    kind, colon, name = spec.partition(":")
    if kind == "openai" and colon and name:
        model = Model(_openai(name), name, policy)
        model.traits.hint = "The key is OPENAI_API_KEY, the address OPENAI_BASE_URL."
    elif spec.endswith((".json", ".yaml", ".yml")):
        model = _from_file(Path(spec), policy)
        model.traits.hint = f"The key and the address are in {spec}."
    else:
        model = None
    if model is not None:
        model.traits.slots = asyncio.Semaphore(calls)
        model.traits.prices = prices
        watch(model.client)
        return model
    raise SetupError(
        f"{spec!r} is not a model; write openai:NAME, or the path of a JSON or YAML file with an AutoGen component."
    )


def _openai(name: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    if not os.environ.get("OPENAI_API_KEY"):
        if not os.environ.get("OPENAI_BASE_URL"):
            raise SetupError(
                f"openai:{name} requires a key: set OPENAI_API_KEY in the environment "
                "(and OPENAI_BASE_URL for a server of your own)."
            )
        key = "none"  # the user's own server often requires none; otherwise it answers 401
    else:
        key = os.environ["OPENAI_API_KEY"]
    arguments: dict[str, Any] = {"model": name, "api_key": key, "max_retries": 0, "timeout": _call_seconds()}
    if base_url := os.environ.get("OPENAI_BASE_URL"):
        arguments["base_url"] = base_url
    try:
        return OpenAIChatCompletionClient(**arguments)
    except ValueError:
        return OpenAIChatCompletionClient(**arguments, model_info=UNKNOWN_MODEL)


def _from_file(path: Path, policy: RetryPolicy | None) -> Model:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise SetupError(f"the model file {path} cannot be read: {_without_content(error)}") from error
    if not isinstance(data, dict) or not isinstance(data.get("provider"), str):
        raise SetupError(f"{path} is not an AutoGen component: it requires the keys 'provider' and 'config'.")
    config = data["config"] = data.get("config") or {}
    if not isinstance(config, dict):
        raise SetupError(f"{path} is not an AutoGen component: its 'config' is not a mapping.")
    _keep_secrets(config)
    if ".openai." in str(data["provider"]) or "OpenAI" in str(data["provider"]):
        # One policy does all retries; those of the SDK would multiply them and hide them from the record.
        config["max_retries"] = 0
        config.setdefault("timeout", _call_seconds())
    try:
        client = ChatCompletionClient.load_component(data)
    except Exception as error:
        raise SetupError(f"AutoGen cannot create a model from {path}: {_without_content(error)}") from error
    return Model(client, str(config.get("model") or data["provider"]), policy)


def _keep_secrets(config: Mapping[str, Any]) -> None:
    for name, value in config.items():
        if isinstance(value, Mapping):
            _keep_secrets(value)
        elif isinstance(value, str) and SECRET_NAMES.search(str(name)):
            keep_secret(value)


def _without_content(error: Exception) -> str:
    """Return what is wrong with a model file without quoting it, because it may contain keys."""
    if isinstance(error, yaml.MarkedYAMLError):
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{error.problem or 'not YAML'}{line}"
    if isinstance(error, ValidationError):
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)]
        return redact("; ".join(faults))
    return redact(" ".join(str(error).split()))[:300]


def _call_seconds() -> float:
    text = os.environ.get("VIVA_MODEL_SECONDS") or CALL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SetupError(f"VIVA_MODEL_SECONDS must be a number of seconds above 0, not {text!r}.")
    return seconds
