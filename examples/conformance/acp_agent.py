"""The same program behind the Agent Client Protocol: `pytest --viva-conformance "acp:python acp_agent.py"`."""

import json
import os
import sys

import json_lines


def write(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(method, params):
    if method == "initialize":
        return {"result": {"protocolVersion": params["protocolVersion"], "agentCapabilities": {}, "authMethods": []}}
    if method == "session/new":
        os.chdir(params["cwd"])
        return {"result": {"sessionId": "only"}}
    if method != "session/prompt":
        return {"error": {"code": -32601, "message": f"there is no method {method}"}}
    text = "".join(part.get("text", "") for part in params["prompt"])
    word, _, rest = text.removeprefix("conformance: ").partition(" ")
    if word == "exception":
        return {"error": {"code": -32603, "message": rest}}
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": json_lines.reply(word, rest)}}
    write(method="session/update", params={"sessionId": "only", "update": chunk})
    return {"result": {"stopReason": "end_turn"}, "last": word == "leave"}


def main():
    json_lines.begin()
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            done = answer(asked["method"], asked.get("params", {}))
            last = done.pop("last", False)
            write(id=asked["id"], **done)
            if last:
                break


if __name__ == "__main__":
    main()
