"""A program with the conformance commands over stdin and stdout.

`pytest --viva-conformance "cmd:python json_lines.py"`
"""

import json
import os
import subprocess
import sys
import time

WORDS = (
    "echo unicode note recall empty size surrogate wait hang exception crash leave garbage flood write offspring start"
)
SLEEPING = [sys.executable, "-c", "import time; time.sleep(600)"]
noted = []


def crash(begun=""):
    print(begun, end="", flush=True)
    print("conformance: last words", file=sys.stderr, flush=True)
    os._exit(3)


def reply(word, rest):
    if word == "hello":
        return f"conformance: ready {WORDS}"
    if word in ("wait", "hang"):
        time.sleep(float(rest or 600))
    elif word == "note":
        noted.append(rest)
    elif word == "crash":
        crash('{"id": ')
    elif word == "garbage":
        sys.stdout.buffer.write(b'{"text": "\xff\xfe\x80"}\n')
        sys.stdout.flush()
    elif word == "flood":
        sys.stderr.write("flood " * 3_400_000)
    elif word == "write":
        with open(rest, "w") as file:
            file.write("written")
    elif word == "offspring":
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return str(subprocess.Popen(SLEEPING, start_new_session=True, **streams).pid)
    replies = {"echo": rest, "note": "noted", "recall": " ".join(noted), "empty": "", "surrogate": "a\ud800b"}
    replies |= {"wait": "waited", "flood": "flooded", "write": "written", "leave": "left", "garbage": "done"}
    return "x" * int(rest) if word == "size" else replies[word]


def begin():
    start = os.environ.get("VIVA_CONFORMANCE_START", "0")
    if start == "crash":
        crash()
    time.sleep(float(start))


def main():
    begin()
    for line in sys.stdin:
        asked = json.loads(line)
        word, _, rest = asked["message"].removeprefix("conformance: ").partition(" ")
        answer = {"error": rest} if word == "exception" else {"text": reply(word, rest)}
        print(json.dumps({"id": asked["id"], **answer}), flush=True)
        if word == "leave":
            break


if __name__ == "__main__":
    main()
