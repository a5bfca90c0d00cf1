"""The keys of an agent file with `api: json`: how a JSON API is asked, and where its answers hold what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from viva.adapters.connectors.agent_file import KeyGroup
from viva.adapters.connectors.http.paths import JsonPath
from viva.adapters.connectors.http.templates import check, uses


def _is_path(text: str) -> str:
    JsonPath.parse(text)
    return text


def _on_the_server(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("must begin with /; the server is named by url")
    return text


AnswerPath = Annotated[str, AfterValidator(_is_path)]
"""A path into an answer: `data.choices[0].text`."""


class RequestKeys(KeyGroup):
    """One request."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    path: Annotated[str, AfterValidator(_on_the_server)] = "/"
    """What is added to `url`; values in it are percent-encoded."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of this request alone."""
    body: Any = None
    """The JSON that is sent; none without it."""


class OpeningKeys(RequestKeys):
    """The request that opens a session, before the first message."""

    session_id: AnswerPath | None = None
    """Where the answer holds the id of the session."""


class StepKeys(KeyGroup):
    """Where an answer holds the agent's steps."""

    event: str | None = None
    """Only events of this name hold steps."""
    each: AnswerPath = "."
    """The list of steps, or one step."""
    tool: AnswerPath | None = None
    """In each step: the tool's name."""
    input: AnswerPath | None = None
    """In each step: the tool's arguments."""
    result: AnswerPath | None = None
    """In each step: what the tool returned."""
    error: AnswerPath | None = None
    """In each step: the tool's error."""
    thought: AnswerPath | None = None
    """In each step: what the agent thought."""
    id: AnswerPath | None = None
    """In each step: its id."""


class UsageKeys(KeyGroup):
    """Where an answer holds what it used."""

    input_tokens: AnswerPath | None = None
    output_tokens: AnswerPath | None = None
    cached_tokens: AnswerPath | None = None
    reasoning_tokens: AnswerPath | None = None
    cost: AnswerPath | None = None
    """US dollars."""


class ReplyKeys(KeyGroup):
    """Where an answer holds the reply."""

    text: AnswerPath | None = None
    """The reply's text; without it, the whole answer is the text, if it is not JSON."""
    steps: StepKeys | None = None
    usage: UsageKeys | None = None
    session_id: AnswerPath | None = None
    """The id that later requests send; the first answer that has one decides."""
    error: AnswerPath | None = None
    """If there is something other than null, false or empty text, the agent has failed, and these are its words."""


class EventKeys(KeyGroup):
    """Which events of an event stream make up the reply; the other paths of `reply` are looked up in each event."""

    text: AnswerPath
    """In the data of an event: a piece of the text. Events that do not have it are passed over."""
    event: str | list[str] | None = None
    """The name, or names, of the events with pieces of the text; any without it."""
    whole: bool = False
    """Whether each piece is all of the text so far, so that the last one is the reply."""
    end: str | None = None
    """The name of the event, or the data, that ends the answer."""


def template_mistakes(path: tuple[str, ...], request: RequestKeys) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what is wrong with the templates of a request, with the path to each in the file."""
    parts = {"path": request.path, "headers": request.headers, "body": request.body}
    for name, part in parts.items():
        for inside, words in check(part):
            yield (*path, name, *inside), words


def sends(request: RequestKeys, *names: str) -> bool:
    """Return whether a request sends one of these values."""
    return uses([request.path, request.headers, request.body], *names)
