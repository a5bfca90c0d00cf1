"""A server with the conformance commands over the OpenAI chat protocol, with the standard library alone.

`python examples/conformance/chat_server.py` prints its SPEC; then `pytest --viva-conformance SPEC`.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = "echo unicode note recall empty size surrogate wait hang exception cut garbage flood"
PREFIX = "conformance: "


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for each response: small ones that follow each other wait 40 ms for each other

    def do_POST(self):
        said = self.said(json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null"))
        if said is None:
            return None
        word, _, rest = said[-1].partition(" ")
        return self.respond(word, rest, said)

    def respond(self, word, rest, said):
        if word == "exception":
            return self.send(400, json.dumps({"error": {"message": rest}}).encode())
        if word == "garbage":
            return self.send(
                200, json.dumps(self.answer("garbage", said)).encode().replace(b"garbage", b"\xff\xfe\x80")
            )
        if word == "cut":
            return self.cut()
        return self.send(200, json.dumps(self.answer(self.reply(word, rest, said), said)).encode())

    def said(self, asked):
        """What the user has said in this conversation."""
        return [each["content"].removeprefix(PREFIX) for each in asked["messages"] if each["role"] == "user"]

    def answer(self, text, said):
        return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}

    def reply(self, word, rest, said):
        if word == "hang":
            time.sleep(600)
        if word == "wait":
            time.sleep(float(rest))
        if word == "flood":
            sys.stderr.write("flood " * 3_400_000)
        noted = [each.removeprefix("note ") for each in said if each.startswith("note ")]
        replies = {"hello": f"{PREFIX}ready {WORDS}", "echo": rest, "note": "noted", "recall": " ".join(noted)}
        replies |= {"empty": "", "surrogate": "a\ud800b", "wait": "waited", "flood": "flooded"}
        return "x" * int(rest) if word == "size" else replies[word]

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(json.dumps(self.answer("half a", [""])).encode()[:-8])
        self.close_connection = True

    def send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100


def serve(handler, spec):
    server = Server(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0), handler)
    print(spec.format(f"http://127.0.0.1:{server.server_port}"), flush=True)
    server.serve_forever()


def main():
    serve(Handler, "{}/v1#conformance")


if __name__ == "__main__":
    main()
