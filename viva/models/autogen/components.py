"""Makes AutoGen's clients: from a name with a key, or from AutoGen's component configuration."""

from __future__ import annotations

from typing import Any

from autogen_core.models import ChatCompletionClient, ModelInfo

from viva.models.address import addresses_in
from viva.models.autogen.client import AutoGenModel
from viva.models.autogen.openai_clients import BoundedAzureClient, BoundedOpenAIClient
from viva.models.autogen.output_limit import OutputLimit

# For models unknown to AutoGen, the capabilities of current models are assumed; what a provider refuses is not used.
UNKNOWN_MODEL = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=True,
    multiple_system_messages=True,
)
_BOUNDED = {
    "OpenAIChatCompletionClient": BoundedOpenAIClient,
    "openai_chat_completion_client": BoundedOpenAIClient,
    "AzureOpenAIChatCompletionClient": BoundedAzureClient,
    "azure_openai_chat_completion_client": BoundedAzureClient,
}
"""The names of AutoGen's clients, with and without their package, to those that Viva uses in their place."""


def openai_model(name: str, config: dict[str, Any]) -> AutoGenModel:
    """Make a client of the OpenAI protocol.

    Args:
        name: The model's name at the provider.
        config: Key, address and limits, as the SDK takes them.
    """
    try:
        client = BoundedOpenAIClient(model=name, **config)
    except ValueError:  # AutoGen does not know the model
        client = BoundedOpenAIClient(model=name, **config, model_info=UNKNOWN_MODEL)
    return AutoGenModel(client, name, OutputLimit("openai", config))


def component_model(name: str, component: dict[str, Any]) -> AutoGenModel:
    """Make a client from a component configuration.

    Raises:
        Exception: AutoGen cannot; the text may contain keys.
    """
    provider = str(component["provider"]).removeprefix("autogen_ext.models.openai.")
    if provider in _BOUNDED:
        component = {**component, "provider": _BOUNDED[provider].component_provider_override}
    addresses = [url for _, url in addresses_in(component["config"])]
    limit = OutputLimit(str(component["provider"]), component["config"])
    client = ChatCompletionClient.load_component(component)
    return AutoGenModel(client, name, limit, addresses[0] if addresses else None)


def is_of_openai(component: dict[str, Any]) -> bool:
    """Return whether a component is a client of the OpenAI SDK, whose own retries and limits are replaced."""
    return ".openai." in str(component["provider"]) or "OpenAI" in str(component["provider"])
