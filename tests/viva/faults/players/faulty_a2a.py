"""The A2A example with faults; those that its SDK would not send are sent around it."""

import asyncio
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples" / "conformance"))
import a2a_server
from holding import hold, note

usual_reply, usual_app = a2a_server.Player.reply, a2a_server.Starlette
HEADERS = [(b"content-type", b"application/json")]


async def reply(self, word, rest, noted):
    if word == "stay":
        await asyncio.to_thread(hold, "reply", rest)
        return rest
    if word == "hang":
        await asyncio.sleep(600)
    if word == "huge":
        return "x" * 5_000_000 + rest
    if word == "slow":
        await asyncio.sleep(2)
        return rest
    return await usual_reply(self, word, rest, noted)


def body_of(word, words):
    """Return the status and the body of a fault, or None."""
    if word == "flood":
        return 500, f"{words} {'flood ' * 500_000}".encode()
    if word == "refuse":
        return 403, json.dumps({"error": words}).encode()
    if word == "garbage":
        return 200, f"<p>This is no protocol: {words}</p>".encode()
    if word == "bytes":
        return 200, b'{"\xff\xfe\x80": "' + words.encode() + b'"}'
    if word == "alien":
        return 200, json.dumps({"jsonrpc": "3.0", "id": 999, "result": {"unexpected": words}}).encode()
    return (200, b'{"jsonrpc": "2.0", "words": "' + words.encode()) if word in ("cut", "die") else None


def faulty(app):
    async def answer(scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        asked = re.search(rb'conformance: (\w+) ?([^"]*)"', body)
        word, words = (part.decode() for part in asked.groups()) if asked else ("", "")
        note(f"conformance: {word} {words}")
        found = body_of(word, words)
        if found is None:
            await app(scope, feed(body, receive), send)
            return
        headers = [*HEADERS, (b"content-length", str(1000 if word in ("cut", "die") else len(found[1])).encode())]
        if word == "die":
            raise RuntimeError("it ends without an answer")
        await send({"type": "http.response.start", "status": found[0], "headers": headers})
        await send({"type": "http.response.body", "body": found[1], "more_body": word == "cut"})
        if word == "cut":
            raise RuntimeError("it ends in the middle of an answer")

    return answer


def feed(body, receive):
    """Return what hands the body out again, and then whatever comes."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_event():
        return left.pop() if left else await receive()

    return next_event


if __name__ == "__main__":
    a2a_server.Player.reply = reply
    a2a_server.Starlette = lambda **options: faulty(usual_app(**options))
    a2a_server.main()
