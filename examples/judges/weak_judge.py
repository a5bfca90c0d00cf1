"""A judge as weak models are: it takes the agent's word for everything. An OpenAI-protocol server, without a model.

usage: python examples/judges/weak_judge.py [PORT]
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPLY = re.compile(r"^\[round (\d+)\] agent:\n    (.+)$", re.M)


def judge(question: str) -> dict:
    """Hold a statement true if the agent said anything at all in the round that the statement names."""
    mark = re.findall(r"The mark of this question is (\w+)\.", question)[-1]
    statement = re.findall(r"<statement>\n(.*?)\n</statement>", question, re.S)[-1]
    replies = dict(REPLY.findall(question))
    named = re.search(r"(\d+) rounds", statement)
    number = named[1] if named else next(reversed(replies), "")
    if number not in replies:
        return {"reason": "The agent did not answer.", "evidence": [],
                "statement_is": "false", "verdict": "miss", "mark": mark}  # fmt: skip
    return {
        "reason": f"In round {number} the agent gives the result without hesitation.",
        "evidence": [{"round": int(number), "quote": replies[number]}],
        "statement_is": "true",
        "verdict": "hit",
        "mark": mark,
    }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(judge(request["messages"][-1]["content"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
        usage = {"prompt_tokens": len(str(request)) // 4, "completion_tokens": len(answer) // 4, "total_tokens": 0}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": request["model"],
                           "choices": [choice], "usage": usage}).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8100
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
