"""Clients of language models: made from a shorthand or AutoGen's component configuration, retried, counted, priced."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, ModelInfo, RequestUsage
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel, ValidationError

from adapters.errors import ModelAnswerError, SetupError
from adapters.prices import price
from adapters.redact import SECRET_NAMES, keep_secret, redact
from adapters.retry import RetryPolicy, with_retries
from records.codec import has_doubled_key
from records.transcript import NO_USAGE, Usage

# For models that AutoGen has no entry for: assume what current models can do; what a provider refuses is not used.
UNKNOWN_MODEL = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=True,
    multiple_system_messages=True,
)
MODEL_CALLS = 64
"""Calls to one provider that are under way at once, if nothing else is said."""
CALL_SECONDS = 300.0
"""Longest wait for one answer of a model."""

# AutoGen logs every call with its whole prompt at INFO; it must not surface through an application's root logger.
logging.getLogger("autogen_core").setLevel(logging.WARNING)
# A provider that resolves `gpt-x` to a dated name is no news to the user.
warnings.filterwarnings("ignore", message="Resolved model mismatch", category=UserWarning)
# AutoGen dumps each structured answer for that log, and pydantic warns of the openai package's generic type.
warnings.filterwarnings(
    "ignore", message=r"(?s)Pydantic serializer warnings:.*field_name='parsed'", category=UserWarning
)


@dataclass(slots=True)
class Traits:
    """What was learnt about a provider while using it, shared by all runs."""

    structured: bool
    """Whether it takes a schema for its answers; False once it has refused one."""
    places: asyncio.Semaphore
    """Calls that may be under way at once."""


class Model(ChatCompletionClient):
    """A model client with the one retry policy, that counts what it is used for.

    `for_run` gives each run a counter of its own on the same connections.
    """

    component_type = "model"

    def __init__(
        self,
        client: ChatCompletionClient,
        name: str,
        policy: RetryPolicy | None = None,
        traits: Traits | None = None,
    ) -> None:
        self.client = client
        self.name = name
        self.policy = policy or RetryPolicy.from_environment()
        self.traits = traits or Traits(
            bool(client.model_info.get("structured_output", False)), asyncio.Semaphore(MODEL_CALLS)
        )
        self.usage = NO_USAGE

    def for_run(self) -> Model:
        """The same client with a fresh counter."""
        return Model(self.client, self.name, self.policy, self.traits)

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """One answer.

        Raises:
            ModelError: the provider failed after retries, or refused.
            ModelAnswerError: it answered with something unusable.
        """
        retries = 0

        def retried() -> None:
            nonlocal retries
            retries += 1

        async def call() -> CreateResult:
            async with self.traits.places:
                return await self.client.create(
                    messages,
                    tools=tools,
                    tool_choice=tool_choice,
                    json_output=json_output,
                    extra_create_args=extra_create_args,
                    cancellation_token=cancellation_token,
                )

        try:
            result = await with_retries(call, self.policy, retried)
        except ModelAnswerError:
            # It was answered, and will be charged; what it cost the SDK does not tell with its error.
            self.usage += Usage(calls=1, retries=retries, cost=None)
            raise
        except BaseException:
            self.usage += Usage(retries=retries)
            raise
        self.usage += self._usage_of(result, retries)
        if not tools and not isinstance(result.content, str):
            raise ModelAnswerError("the model called a tool, and it was given none")
        if result.finish_reason == "length":
            raise ModelAnswerError("the answer was cut off at the model's token limit")
        if result.finish_reason == "content_filter":
            raise ModelAnswerError("the provider's content filter withheld the answer")
        if json_output and isinstance(result.content, str) and _doubled(result.content):
            raise ModelAnswerError("the answer's JSON has the same key twice")
        return result

    def _usage_of(self, result: CreateResult, retries: int) -> Usage:
        tokens = result.usage
        known = tokens.prompt_tokens > 0 or tokens.completion_tokens > 0
        cost = price(self.name, tokens.prompt_tokens, tokens.completion_tokens) if known else None
        return Usage(tokens.prompt_tokens, tokens.completion_tokens, calls=1, retries=retries, cost=cost)

    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Not offered: a stream that breaks off cannot be retried without showing its beginning twice."""
        raise NotImplementedError("Viva's model clients do not stream")

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    def actual_usage(self) -> RequestUsage:
        """AutoGen's counter of the client."""
        return self.client.actual_usage()

    def total_usage(self) -> RequestUsage:
        """AutoGen's counter of the client."""
        return self.client.total_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """As the client counts."""
        return self.client.count_tokens(messages, tools=tools)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """As the client counts."""
        return self.client.remaining_tokens(messages, tools=tools)

    @property
    def capabilities(self) -> Any:
        """Deprecated in AutoGen; `model_info` is what it asks for."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """What the model can do."""
        return self.client.model_info


def _doubled(content: str) -> bool:
    try:
        return has_doubled_key(content)
    except (ValueError, RecursionError):  # no JSON: AutoGen says so
        return False


def make_model(spec: str, *, policy: RetryPolicy | None = None, calls: int = MODEL_CALLS) -> Model:
    """Make a model client.

    Args:
        spec: `openai:NAME` (key from `OPENAI_API_KEY`, address from `OPENAI_BASE_URL` if set), or the path of a JSON or
            YAML file with an AutoGen component configuration (`provider`, `config`), for any provider it reaches.
        policy: Replaces the retry policy.
        calls: Calls under way at once, at most.

    Raises:
        SetupError: the SPEC, the key or the file is not right.
    """
    kind, colon, name = spec.partition(":")
    if kind == "openai" and colon and name:
        model = Model(_openai(name), name, policy)
    elif spec.endswith((".json", ".yaml", ".yml")):
        model = _from_file(Path(spec), policy)
    else:
        model = None
    if model is not None:
        model.traits.places = asyncio.Semaphore(calls)
        return model
    raise SetupError(
        f"{spec!r} is not a model; write openai:NAME, or the path of a JSON or YAML file with an AutoGen component."
    )


def _openai(name: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    if not os.environ.get("OPENAI_API_KEY"):
        if not os.environ.get("OPENAI_BASE_URL"):
            raise SetupError(
                f"openai:{name} needs a key: set OPENAI_API_KEY in the environment "
                "(and OPENAI_BASE_URL for a server of your own)."
            )
        key = "none"  # a server of one's own often wants none; one that does answers 401
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
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SetupError(f"the model file {path} cannot be read: {_without_content(error)}") from error
    if not isinstance(data, dict) or not isinstance(data.get("provider"), str):
        raise SetupError(f"{path} is not an AutoGen component: it needs the keys 'provider' and 'config'.")
    config = data["config"] = data.get("config") or {}
    if not isinstance(config, dict):
        raise SetupError(f"{path} is not an AutoGen component: its 'config' is not a mapping.")
    _keep_secrets(config)
    if ".openai." in str(data["provider"]) or "OpenAI" in str(data["provider"]):
        # Retries are one policy's job; the SDK's own would multiply them and hide them from the record.
        config["max_retries"] = 0
        config.setdefault("timeout", _call_seconds())
    try:
        client = ChatCompletionClient.load_component(data)
    except Exception as error:
        raise SetupError(f"AutoGen cannot make a model from {path}: {_without_content(error)}") from error
    return Model(client, str(config.get("model") or data["provider"]), policy)


def _keep_secrets(config: Mapping[str, Any]) -> None:
    for name, value in config.items():
        if isinstance(value, Mapping):
            _keep_secrets(value)
        elif isinstance(value, str) and SECRET_NAMES.search(str(name)):
            keep_secret(value)


def _without_content(error: Exception) -> str:
    """What is wrong with a model file, without quoting it: keys may stand in it."""
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
