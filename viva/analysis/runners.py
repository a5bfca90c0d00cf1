"""Runners answer an analyst's request: a model by default, or a session of the Copilot SDK."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from viva.adapters.calls import describe
from viva.analysis.findings import UnusableAnswer
from viva.analysis.options import EvalAgentOptions, EvalAnalysisRequest, EvalAnalysisRunner
from viva.errors import ModelAnswerError, ModelError, SetupError
from viva.models.metered_model import MeteredModel
from viva.models.model import CallLimits, Model, ModelMessage
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits
from viva.records.text import one_line
from viva.records.transcript import UNREPORTED, Usage

Configure = Callable[[MutableMapping[str, Any]], None]
"""Changes the arguments with which a session is created."""
NAME = "viva-analyst"
LOG = logging.getLogger("viva")


class ModelRunner:
    """Asks a model, which has no tools."""

    def __init__(self, model: Model) -> None:
        """Args:
        model: The model; the caller closes it.
        """
        self._model = MeteredModel(model)

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return self._model.usage

    async def __call__(self, request: EvalAnalysisRequest) -> str:
        """Answer.

        Raises:
            ModelError: the provider failed after retries, or did not answer in time.
            UnusableAnswer: it answered with nothing that can be read.
        """
        messages = [ModelMessage("system", request.persona), ModelMessage("user", request.prompt)]
        try:
            return (await self._model.ask(messages, limits=CallLimits(seconds=request.seconds))).text
        except ModelAnswerError as error:
            raise UnusableAnswer(str(error)) from error


async def open_model(
    options: EvalAgentOptions, what: str = "an analysis"
) -> tuple[Model, Callable[[], Awaitable[None]]]:
    """Make the model of an analyst with its limits, and check that it can be used; the second closes it.

    Args:
        options: The model, its prices and limits.
        what: What it is for, as an error says it.

    Raises:
        SetupError: there is no model, or it cannot be used.
    """
    if options.model is None:
        raise SetupError(
            f"{what} requires a model: --model openai:NAME with OPENAI_API_KEY in the environment, or "
            "--model FILE with an AutoGen component."
        )
    from viva.models.factory import make_model

    model = make_model(options.model, prices=parse_prices(options.prices))
    try:
        await model.look()
    except SetupError:
        await model.close()
        raise
    limits = parse_role_limits(options.max_output_tokens, options.model_seconds)
    return limits.limited(model, "analyst"), model.close


def session_runner(client: Any, configure: Configure | None = None) -> EvalAnalysisRunner:
    """Make a runner that opens a session of its own for each request, without tools, and closes it.

    Args:
        client: One of the Copilot SDK: with `create_session(**arguments)`, whose sessions have `send_and_wait(prompt,
            timeout=…)` and `disconnect()`.
        configure: Changes the arguments of `create_session`: another provider, say.

    Raises:
        SetupError: the object is not such a client.
    """
    if not callable(getattr(client, "create_session", None)):
        raise SetupError(f"{client!r:.80} is not a client of the Copilot SDK: it has no create_session().")

    async def run(request: EvalAnalysisRequest) -> str:
        arguments: dict[str, Any] = {
            "system_message": {"mode": "replace", "content": request.persona},
            # It observes only: with nothing to call, there is nothing to permit, either.
            "available_tools": [],
            "client_name": NAME,
        }
        if request.model:
            arguments["model"] = request.model
        if configure is not None:
            configure(arguments)
        session = await client.create_session(**arguments)
        try:
            event = await session.send_and_wait(request.prompt, timeout=request.seconds)
        except TimeoutError as error:
            raise ModelError(f"the session did not answer within {request.seconds:g} s") from error
        finally:
            await _close(session)
        return _content_of(event)

    return run


async def _close(session: Any) -> None:
    """Close a session; older versions of the SDK call it `destroy`."""
    close: Callable[[], Awaitable[None]] | None = getattr(session, "disconnect", None) or getattr(
        session, "destroy", None
    )
    if close is not None:
        try:
            await close()
        except Exception as error:
            # What it answered, or why it did not, matters more.
            LOG.warning("%s", one_line(f"the analyst's session could not be closed: {describe(error)}", 1000))


def _content_of(event: Any) -> str:
    """Return the text of a message event."""
    content = getattr(getattr(event, "data", None), "content", None)
    if not isinstance(content, str) or not content.strip():
        raise UnusableAnswer("it is empty")
    return content


def usage_of(runner: EvalAnalysisRunner) -> Usage:
    """Return the usage of a runner, if it reports one."""
    found = getattr(runner, "usage", None)
    return found if isinstance(found, Usage) else UNREPORTED
