"""Programs: `python faulty_program.py json_lines|acp_agent|terminal` is that example, with faults."""

import importlib
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples" / "conformance"))
import json_lines
from holding import hold, note, say, start_of

KIND = sys.argv[1]
usual = json_lines.reply


class ProgramFaults:
    """What a reply can be instead; each is given the run's own words."""

    departing = ""

    def stay(self, words):
        hold("reply", words)
        return words

    def depart(self, words):
        ProgramFaults.departing = words
        return words

    def huge(self, words):
        return ("x" * 4000 + "\n") * (20 if KIND == "terminal" else 1250) + words

    def hang(self, words):
        say(words)
        time.sleep(600)

    def die(self, words):
        self.out(b'{"id": ')
        say(words)
        os._exit(3)

    def garbage(self, words):
        self.out(f"<p>This is no protocol: {words}</p>\n".encode())
        return "after garbage"

    def bytes(self, words):
        self.out(b'{"text": "\xff\xfe\x80 ' + words.encode() + b'"}\n')
        return "after bytes"

    def flood(self, words):
        for _ in range(5):
            sys.stderr.write("flood " * 170_000)
        say(words)
        os._exit(3)

    def cut(self, words):
        say(words)
        os.closerange(0, 2)
        if KIND == "terminal":
            os.close(2)
        time.sleep(600)

    def alien(self, words):
        self.out(f'{{"jsonrpc": "3.0", "id": 999, "text": "{words}", "result": {{}}}}\n'.encode())
        return "after alien"

    def out(self, content):
        sys.stdout.flush()
        while content:
            content = content[os.write(1, content) :]


def reply(word, rest):
    note(f"conformance: {word} {rest}")
    fault = getattr(ProgramFaults(), word, None)
    return usual(word, rest) if fault is None else fault(rest)


def begin():
    kind, words = start_of(".")
    if kind in ("crash", "hang"):
        say(words)
    if kind == "crash":
        os._exit(3)
    if kind in ("hang", "slow"):
        time.sleep(600 if kind == "hang" else 2)
    if kind == "hold":
        hold("open", words)
    if kind == "garbage":
        print(f"Welcome! {words}", flush=True)
    if kind == "version":
        sys.stdin.readline()
        result = {"protocolVersion": 99, "agentInfo": {"name": words}}
        print(json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}), flush=True)


if __name__ == "__main__":
    json_lines.reply, json_lines.begin = reply, begin
    importlib.import_module(KIND).main()
    if ProgramFaults.departing:
        hold("close", ProgramFaults.departing)
