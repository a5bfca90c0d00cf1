"""Servers with the standard library: `python faulty_server.py chat_server|…` is that example, with faults."""

import importlib
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples" / "conformance"))
import chat_server
from holding import hold, note

usual_send, usual_respond, usual_said = chat_server.Handler.send, chat_server.Handler.respond, None


class ServerFaults:
    """What an answer can be instead; each is given the run's own words."""

    def stay(self, handler, words, said):
        hold("reply", words)
        handler.send(200, json.dumps(handler.answer(words, said)).encode())

    def depart(self, handler, words, said):
        handler.send(200, json.dumps(handler.answer(words, said)).encode())

    def huge(self, handler, words, said):
        handler.send(200, json.dumps(handler.answer("x" * 5_000_000 + words, said)).encode())

    def die(self, handler, words, said):
        handler.close_connection = True

    def cut(self, handler, words, said):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(
            json.dumps(handler.answer(words, said)).encode().partition(words.encode())[0] + words.encode()
        )
        handler.close_connection = True

    def garbage(self, handler, words, said):
        handler.send_response(200)
        page = f"<p>This is no protocol: {words}</p>".encode()
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page)

    def bytes(self, handler, words, said):
        usual_send(handler, 200, b'{"\xff\xfe\x80": "' + words.encode() + b'"}')

    def alien(self, handler, words, said):
        usual_send(handler, 200, json.dumps({"protocol": 99, "unexpected": [words]}).encode())

    def flood(self, handler, words, said):
        usual_send(handler, 500, f"{words} {'flood ' * 500_000}".encode())

    def refuse(self, handler, words, said):
        usual_send(handler, 403, json.dumps({"error": {"message": words}}).encode())

    def slow(self, handler, words, said):
        time.sleep(2)
        handler.send(200, json.dumps(handler.answer(words, said)).encode())


def respond(self, word, rest, said):
    note(f"conformance: {word} {rest}")
    fault = getattr(ServerFaults(), word, None)
    return usual_respond(self, word, rest, said) if fault is None else fault(self, rest, said)


class StreamHandler(chat_server.Handler):
    """The chat protocol in server-sent events."""

    def send(self, status, body):
        if status != 200:
            return usual_send(self, status, body)
        text = json.loads(body)["choices"][0]["message"]["content"]
        events = [{"choices": [{"delta": {"content": part}}]} for part in (text[:3], text[3:])]
        content = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content.encode())
        self.close_connection = True
        return None


def open_faulty(handler, module_said):
    """Have the JSON API's opening fail, too."""
    usual_said = handler.said

    def said(self, asked):
        kind, _, words = str((asked or {}).get("start") or "").partition(" ")
        if kind == "crash":
            return usual_send(self, 500, json.dumps({"error": {"message": words}}).encode())
        if kind in ("hang", "slow"):
            time.sleep(600 if kind == "hang" else 2)
        if kind == "hold":
            hold("open", words)
        if kind == "garbage":
            return usual_send(self, 200, f"<p>{words}</p>".encode())
        if kind == "version":
            return usual_send(self, 200, json.dumps({"protocol": 99, "session": words}).encode())
        return usual_said(self, asked)

    handler.said = said
    usual_delete = handler.do_DELETE

    def do_DELETE(self):  # noqa: N802 (the name that the library looks for)
        said = module_said[self.path.rpartition("/")[2]]
        if departing := [line.split()[-1] for line in said if line.startswith("depart ")]:
            hold("close", departing[0])
        usual_delete(self)

    handler.do_DELETE = do_DELETE


if __name__ == "__main__":
    kind = sys.argv.pop(1)
    chat_server.Handler.respond = respond
    chat_server.WORDS += " " + " ".join(name for name in dir(ServerFaults) if name[0] != "_")
    if kind == "streamed":
        chat_server.serve(StreamHandler, "{}")
    module = importlib.import_module(kind)
    if kind == "json_api_server":
        open_faulty(module.Handler, module.SAID)
    module.main()
