"""The model of an agent that reaches its model over HTTP: a server in the agent's own process, before a `Model`.

It speaks OpenAI's chat protocol and Anthropic's Messages API, streamed or not.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.send("application/json", {"data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.partition("?")[0].endswith(("/chat/completions", "/messages")):
            return self.send("application/json", {"input_tokens": 1})
        try:
            text = self.server.model.answer(list(words_of_the_user(asked["messages"])))
        except ValueError as error:
            return self.send("application/json", {"type": "error", "error": refusal(error)}, 400)
        answers = anthropic if self.path.partition("?")[0].endswith("/messages") else openai
        whole, events = answers(text, asked["model"])
        if asked.get("stream"):
            return self.send("text/event-stream", events)
        return self.send("application/json", whole)

    def send(self, kind, content, status=200):
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def refusal(error):
    return {"type": "invalid_request_error", "message": str(error)}


def words_of_the_user(messages):
    """Each of the conformance commands in a conversation, without what the agent puts beside them."""
    for message in messages:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
        if message["role"] == "user":
            # Claude Code joins what has had no visible reply, and ends each part but the last one with a line break.
            parts = [*(part.removesuffix("\n") for part in parts[:-1]), *parts[-1:]]
            # Copilot begins with the time of day.
            yield from (part[part.index("conformance: ") :] for part in parts if "conformance: " in part)


def openai(text, model):
    about = {"id": "reply", "created": 0, "model": model}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    message = {"role": "assistant", "content": text}
    chunk = {**about, "object": "chat.completion.chunk"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {**about, "object": "chat.completion", "choices": [choice], "usage": usage}
    return whole, "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def anthropic(text, model):
    head = {"id": "msg_reply", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}
    head |= {"usage": {"input_tokens": 1, "output_tokens": 1}, "stop_reason": "end_turn"}
    events = [
        {"type": "message_start", "message": {**head, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return {**head, "content": [{"type": "text", "text": text}]}, "".join(lines)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def serve(model):
    """Start a server with this model behind it; return its address."""
    server = Server(("127.0.0.1", 0), Handler)
    server.model = model
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
