"""A local model server for tests: the OpenAI chat protocol over real HTTP, played by scripted parts and faults.

A part decides what is answered; this module holds the protocol, the faults that real providers show, and three
built-in parts (examiner, judge, agent) that take the exam `sum_1_to_50` together. From the shell:
`python tests/model_server.py --port 8000` serves the built-in parts and prints the URL on its first line.

    with ModelServer({"scripted": sequence(RateLimited(1), RateLimited(1), then=judge)}) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="unused", max_retries=0)

Wire format: https://platform.openai.com/docs/api-reference/chat (chat completions, streaming, models, errors).
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

Request: TypeAlias = dict[str, Any]
"""The JSON body of one chat-completions request, as the client sent it."""

ROUND_LINE = re.compile(r"^\[round (\d+)\] agent:\n    (.*)$", re.MULTILINE)
"""How a judge's prompt marks what the agent said: round number, then the text. Lines that do not match are not read."""

COMPLETIONS = "/v1/chat/completions"
STOP_KEYWORD = re.compile(r"\b([A-Z]+_FINISHED)\b")
SUM_STATEMENT = re.compile(r"sum should be (-?\d+)")
ADDITION = re.compile(r"\badd\b\D{0,20}?(-?\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: str
    """JSON text, as on the wire."""
    id: str = "call_1"


@dataclass(frozen=True)
class Usage:
    """What is sent as `usage`, whatever it is."""

    sent: object


@dataclass(frozen=True)
class Answer:
    """One assistant message; a part may return plain text where the content is all there is."""

    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning_content: str | None = None
    refusal: str | None = None
    finish_reason: str | None = None
    """None: `tool_calls` where there are any, else `stop`."""
    usage: tuple[int, int] | Literal["estimate"] | Usage | None = "estimate"
    """(prompt, completion) tokens; `estimate` counts a quarter of the characters, None sends no usage at all."""
    cached_tokens: object = None
    """Tokens of the prompt that came from the provider's cache; None does not say."""


class Fault:
    """What a provider may do instead of answering, or a message no caller wants."""


@dataclass(frozen=True)
class RateLimited(Fault):
    retry_after: float | str | None = None
    """Seconds; a string (an HTTP date, say) is sent as it is; None sends no Retry-After."""
    code: str = "rate_limit_exceeded"
    message: str = "rate limit reached"


TOO_LARGE = RateLimited(
    message="Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 36278. "
    "The input or output tokens must be reduced in order to run successfully."
)
"""What OpenAI answers to one request that has more tokens than the quota of a minute."""


@dataclass(frozen=True)
class ServerError(Fault):
    status: int = 500
    message: str = "the server had an error"


FLAGGED = ServerError(403, "Your chosen model requires moderation and your input was flagged")
"""What OpenRouter answers to words that a filter objects to."""


@dataclass(frozen=True)
class Unauthorized(Fault):
    pass


@dataclass(frozen=True)
class BadRequest(Fault):
    message: str = "response_format not supported"


@dataclass(frozen=True)
class CutConnection(Fault):
    after_bytes: int | None = None
    """Body bytes sent before the cut, at most all but one; None cuts before any header."""
    reset: bool = False
    """End with RST instead of FIN."""


@dataclass(frozen=True)
class Stall(Fault):
    """Silence, then an answer; closing the server ends the silence by dropping the connection."""

    seconds: float
    then: str | Answer = "Late."


@dataclass(frozen=True)
class TruncatedJson(Fault):
    """A complete HTTP response (when streaming, a complete event) whose JSON is cut in half."""


@dataclass(frozen=True)
class WrongSchema(Fault):
    content: str = '{"unexpected": [1, 2, 3]}'


@dataclass(frozen=True)
class EmptyContent(Fault):
    null: bool = False
    """`content` is null instead of the empty string."""


@dataclass(frozen=True)
class Garbage(Fault):
    where: Literal["body", "content"] = "body"
    """Replaces the whole HTTP body, or only the message's content."""
    text: str | bytes = "<html>\x00 %%% {{{ not what you asked for"
    """Bytes only as a body."""
    content_type: str = "application/json"
    """Of a garbage body. Matters: the openai client hands a body that is not called JSON to its caller as text."""
    status: int = 200
    """Of a garbage body."""


@dataclass(frozen=True)
class Redirect(Fault):
    location: str
    status: int = 307


@dataclass(frozen=True)
class Flood(Fault):
    """A body without an end, until nobody listens; `ModelServer.flooded` counts its bytes."""


@dataclass(frozen=True)
class Raw(Fault):
    """A body of any bytes."""

    body: bytes
    status: int = 200
    encoding: str | None = None
    """Of the content; the body has it already."""


@dataclass(frozen=True)
class Drip(Fault):
    """An answer one byte at a time, until the client goes away or the server is closed."""

    seconds: float = 0.05
    """Between two bytes."""


Part: TypeAlias = Callable[[Request], str | Answer | Fault]
Play: TypeAlias = str | Answer | Fault | Part
"""What may be registered under a model name: a part, or the one thing it always answers."""


def resolve(play: Play, request: Request) -> str | Answer | Fault:
    return play(request) if callable(play) else play


def sequence(*plays: Play, then: Play) -> Part:
    """A part that plays `plays` in order, one for each request whatever thread it comes on, and `then` ever after."""
    rest, lock = iter(plays), threading.Lock()

    def part(request: Request) -> str | Answer | Fault:
        with lock:
            play = next(rest, then)
        return resolve(play, request)

    return part


def without_structured_output(play: Play) -> Part:
    """A model that refuses `response_format: json_schema` with status 400, and otherwise plays `play`."""

    def part(request: Request) -> str | Answer | Fault:
        structured = (request.get("response_format") or {}).get("type") == "json_schema"
        return BadRequest() if structured else resolve(play, request)

    return part


def text_of(message: Mapping[str, Any]) -> str:
    """The text of one chat message, whether its content is a string, a list of content parts, or null."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def system_text(request: Request) -> str:
    return "\n".join(text_of(message) for message in request["messages"] if message["role"] in ("system", "developer"))


def said_by(role: str, request: Request) -> list[str]:
    return [text_of(message) for message in request["messages"] if message["role"] == role]


def examiner(request: Request) -> str | Fault:
    """Asks for the additions 1 to 50, then says the stop keyword that its system prompt names."""
    keyword = STOP_KEYWORD.search(system_text(request))
    if keyword is None:
        return BadRequest(f"the examiner part finds no stop keyword ({STOP_KEYWORD.pattern}) in its system prompt")
    n = len(said_by("assistant", request)) + 1
    return f"Round {n}: please add {n} to the total sum and report the sum." if n <= 50 else keyword[1]


def agent(request: Request) -> str:
    """Adds up, over the whole history, the last integer each user message asks to add; echoes what is no addition."""
    said = said_by("user", request)
    numbers = [int(found[-1]) for text in said if (found := ADDITION.findall(text))]
    if not said or not ADDITION.search(said[-1]):
        return said[-1] if said else ""
    return f"The sum is {sum(numbers)}."


OWN_MARK = "(the mark of the question)"
"""In a verdict: replaced by the mark that the question ends with, as a judge would copy it."""
MARK_LINE = re.compile(r"The mark of this question is (\w+)\.")


def with_mark(content: str, request: Request) -> str:
    """An answer with the mark of its question."""
    marks = MARK_LINE.findall("\n".join(text_of(message) for message in request["messages"]))
    return content.replace(OWN_MARK, marks[-1]) if marks else content


def marked(play: str | Answer | Fault, request: Request) -> str | Answer | Fault:
    if isinstance(play, str):
        return with_mark(play, request)
    if isinstance(play, Answer) and play.content:
        return replace(play, content=with_mark(play.content, request))
    return play


def verdict(label: str, reason: str, *evidence: Mapping[str, Any]) -> str:
    """A judge's answer in the form that its prompt asks for; `evidence` items have `round` and `quote`."""
    comes_to = {"hit": "true", "miss": "false"}.get(label, "undecided")
    answer = {"reason": reason, "evidence": evidence, "statement_is": comes_to, "verdict": label, "mark": OWN_MARK}
    return json.dumps(answer)


def judge(request: Request) -> str:
    """Judges a statement 'sum should be N': a hit where an agent's line in the transcript holds N as a whole number."""
    prompt = "\n".join(text_of(message) for message in request["messages"])
    lines = ROUND_LINE.findall(prompt)
    statement = SUM_STATEMENT.search(ROUND_LINE.sub("", prompt))
    if statement is None or not lines:
        missing = "transcript" if statement else "statement 'sum should be N'"
        return verdict("unsure", f"The request holds no {missing}.")
    number = re.compile(rf"(?<![\d-])(?<!\d[.,]){statement[1]}(?!\d|[.,]\d)")
    for round_number, text in lines:
        if found := number.search(text):
            quote = text[max(0, found.start() - 16) : found.end() + 1].strip()
            evidence = [{"round": int(round_number), "quote": quote}]
            reason = f"The agent says {statement[1]} in round {round_number}."
            return verdict("hit", reason, *evidence)
    return verdict("miss", f"The agent never says {statement[1]}.")


def by_role(examiner: Play = examiner, judge: Play = judge, agent: Play = agent) -> Part:
    """One model for all roles: whichever of the words examiner and judge comes first in the first 300 characters
    of the system prompt says which it plays; with neither, it plays the agent."""
    plays = {"examiner": examiner, "judge": judge}

    def part(request: Request) -> str | Answer | Fault:
        word = re.search(r"\b(examiner|judge)\b", system_text(request)[:300].lower())
        return resolve(plays[word[1]] if word else agent, request)

    return part


BUILT_IN: dict[str, Play] = {"scripted": by_role(), "examiner": examiner, "judge": judge, "agent": agent}


@dataclass(frozen=True)
class SeenRequest:
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Request
    """Empty for a request without one."""


def _usage(request: Request, answer: Answer) -> object:
    if isinstance(answer.usage, Usage):
        return answer.usage.sent
    if answer.usage == "estimate":
        made = [answer.content or "", answer.reasoning_content or "", *(call.arguments for call in answer.tool_calls)]
        prompt, completion = sum(len(text_of(m)) for m in request["messages"]) // 4, sum(map(len, made)) // 4
    elif answer.usage is None:
        return None
    else:
        prompt, completion = answer.usage
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if answer.cached_tokens is None:
        return usage
    return {**usage, "prompt_tokens_details": {"cached_tokens": answer.cached_tokens}}


def _message(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.content, "refusal": answer.refusal}
    if answer.reasoning_content is not None:
        message["reasoning_content"] = answer.reasoning_content
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.tool_calls
        ]
    return message


def _deltas(answer: Answer) -> Iterable[dict[str, Any]]:
    """The message in pieces of 16 characters, as a stream sends it."""
    yield {"role": "assistant", "content": answer.content and ""}
    for key in ("reasoning_content", "content", "refusal"):
        text = getattr(answer, key) or ""
        yield from ({key: text[at : at + 16]} for at in range(0, len(text), 16))
    for index, call in enumerate(answer.tool_calls):
        head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [head]}
        for at in range(0, len(call.arguments), 16):
            yield {"tool_calls": [{"index": index, "function": {"arguments": call.arguments[at : at + 16]}}]}


def _completion(request: Request, answer: Answer, *, cut: bool = False) -> tuple[str, bytes]:
    """Content type and body of one answer, streamed where the request asks for it; `cut` halves its (last) JSON."""
    finish = answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
    common = {"id": "chatcmpl-test", "created": 0, "model": request["model"]}
    usage = _usage(request, answer)
    if not request.get("stream"):
        choice = {"index": 0, "message": _message(answer), "finish_reason": finish, "logprobs": None}
        whole = json.dumps({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
        return "application/json", (whole[: len(whole) // 2] if cut else whole).encode()
    common["object"] = "chat.completion.chunk"
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in _deltas(answer)]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    chunks = [{**common, "choices": [choice]} for choice in choices]
    if usage and (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**common, "choices": [], "usage": usage})
    events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
    if cut:
        events[-2] = events[-2][: len(events[-2]) // 2]
    return "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode()


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self._note({})
        if self.path != "/v1/models":
            return self._error(404, "not_found", f"no such path: {self.path}")
        listed = self.server.owner.lists
        if isinstance(listed, int):
            return self._error(listed, "no_list", "this server does not list its models")
        if isinstance(listed, bytes):
            return self._send(200, "application/json", listed)
        names = self.server.owner.parts if listed is None else listed
        models = [{"id": n, "object": "model", "created": 0, "owned_by": "tests"} for n in names]
        return self._send(200, "application/json", json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            request = json.loads(raw)
            known = request["model"] in self.server.owner.parts and isinstance(request["messages"], list)
        except (ValueError, KeyError, TypeError):
            self._note({})
            return self._error(400, "invalid_request", "the body is no chat-completions request")
        self._note(request)
        if self.path not in (COMPLETIONS, *self.server.owner.further_paths) or not known:
            return self._error(404, "model_not_found", f"no model {request['model']!r} at {self.path}")
        try:
            play = marked(resolve(self.server.owner.parts[request["model"]], request), request)
        except Exception as error:  # a mistake in the test: answered here, raised again where the server is closed
            self.server.owner.mistakes.append(error)
            return self._error(500, "part_failed", repr(error))
        return self._play(play, request)

    def _play(self, play: str | Answer | Fault, request: Request) -> None:
        match play:
            case RateLimited(retry_after, code, message):
                wait = f"{retry_after:g}" if isinstance(retry_after, int | float) else retry_after
                headers = {} if wait is None else {"Retry-After": wait}
                self._error(429, code, message, headers)
            case ServerError(status, message):
                self._error(status, "server_error", message)
            case Unauthorized():
                self._error(401, "invalid_api_key", "incorrect API key provided")
            case BadRequest(message):
                self._error(400, "invalid_request_error", message)
            case CutConnection():
                self._send(200, *_completion(request, Answer("This answer never arrives whole.")), cut=play)
            case Stall(seconds, then):
                if self.server.closing.wait(seconds):
                    self.close_connection = True
                else:
                    self._play(then, request)
            case TruncatedJson():
                self._send(200, *_completion(request, Answer("This answer is cut."), cut=True))
            case Garbage("body", text, content_type, status):
                self._send(status, content_type, text if isinstance(text, bytes) else text.encode())
            case Garbage(text=str(content)) | WrongSchema(content) | str(content):
                self._send(200, *_completion(request, Answer(content)))
            case Redirect(location, status):
                self._send(status, "text/plain", b"", {"Location": location})
            case Flood():
                self._flood()
            case Raw(body, status, encoding):
                self._send(status, "application/json", body, {"Content-Encoding": encoding} if encoding else None)
            case Drip(seconds):
                self._drip(seconds)
            case EmptyContent(null):
                self._send(200, *_completion(request, Answer(None if null else "")))
            case Answer():
                self._send(200, *_completion(request, play))

    def _flood(self) -> None:
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        try:
            while not self.server.closing.is_set():
                self.server.owner.flooded += self.wfile.write(b" " * 65_536)
        except OSError:
            return

    def _drip(self, seconds: float) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
        while not self.server.closing.wait(seconds):
            self.wfile.write(b" ")
        self.close_connection = True

    def _note(self, body: Request) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.note(SeenRequest(self.command, self.path, headers, body))

    def _error(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        error = {"message": message, "type": code, "param": None, "code": code}
        self._send(status, "application/json", json.dumps({"error": error}).encode(), headers)

    def _send(
        self,
        status: int,
        content_type: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        cut: CutConnection | None = None,
    ) -> None:
        """Sends one response in one write (headers and body in two would wait for the client's delayed ACK)."""
        fields = {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
        lines = [
            f"HTTP/1.1 {status} {self.responses.get(status, ('Unnamed',))[0]}",
            *(f"{k}: {v}" for k, v in fields.items()),
        ]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        if cut is None:
            self.wfile.write(head + body)
            return
        if cut.after_bytes is not None:
            self.wfile.write(head + body[: min(cut.after_bytes, len(body) - 1)])
        self.close_connection = True
        if cut.reset:  # a close with linger time 0 sends RST; the reader shares the socket and must let go first
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Keeps the tests' output clean."""


class _Http(ThreadingTCPServer):
    """Not HTTPServer, which looks its own name up in the DNS when it binds."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, owner: ModelServer, port: int) -> None:
        self.owner = owner
        self.closing = threading.Event()
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that went away is no news
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        self.closing.set()
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed meanwhile
        super().server_close()


class ModelServer:
    """Serves `parts`, by model name, beside the built-in ones (which a part of the same name replaces).

    Leaving the `with` block closes every connection, and raises what a part raised, if anything.
    """

    def __init__(
        self,
        parts: Mapping[str, Play] | None = None,
        *,
        port: int = 0,
        further_paths: Iterable[str] = (),
        lists: Iterable[str] | bytes | int | None = None,
    ) -> None:
        self.lists = lists if isinstance(lists, int | bytes) or lists is None else tuple(lists)
        """The models that it names when it is asked for a list, by default all; a status with which it refuses; or the
        body that it sends."""
        self.parts: dict[str, Play] = {**BUILT_IN, **(parts or {})}
        self.further_paths = tuple(further_paths)
        """Where completions are also served, as after a redirect."""
        self.flooded = 0
        """Bytes that `Flood` sent."""
        self.mistakes: list[Exception] = []
        """What parts raised; the client got status 500."""
        self._port = port
        self._seen: list[SeenRequest] = []
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """Base URL for a client, with `/v1` at its end."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[SeenRequest]:
        """A copy of all requests so far that ask something, in the order of their arrival."""
        with self._lock:
            return [seen for seen in self._seen if seen.method != "GET"]

    @property
    def looks(self) -> list[SeenRequest]:
        """A copy of all requests so far that only look, such as for the list of models."""
        with self._lock:
            return [seen for seen in self._seen if seen.method == "GET"]

    def note(self, request: SeenRequest) -> None:
        with self._lock:
            self._seen.append(request)

    def __enter__(self) -> Self:
        """Raises OSError where the port is taken. Port 0 becomes a free one."""
        self._http = _Http(self, self._port)
        self._port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if self.mistakes and error is None:
            raise self.mistakes[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the built-in parts until interrupted.")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    with ModelServer(port=parser.parse_args().port) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
