"""An agent with the conformance commands, as a class: `pytest --viva-conformance agent.py:Agent`.

`OwnProcess` also supports those that end its process, so it needs one of its own: `--viva-isolate`, or
`agent.py:OwnProcess@VENV`.
"""

import os
import subprocess
import sys
import threading
import time

WORDS = "echo unicode note recall empty size surrogate wait hang exception flood write"


class Agent:
    words = WORDS

    def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
        self.workspace, self.noted = workspace, []

    def get_reply_from_agent(self, message):
        word, _, rest = message.removeprefix("conformance: ").partition(" ")
        return getattr(self, word)(rest)

    def hello(self, _):
        return f"conformance: ready {self.words}"

    def echo(self, text):
        return text

    def note(self, word):
        self.noted.append(word)
        return "noted"

    def recall(self, _):
        return " ".join(self.noted)

    def empty(self, _):
        return ""

    def size(self, count):
        return "x" * int(count)

    def surrogate(self, _):
        return "a\ud800b"

    def wait(self, seconds):
        time.sleep(float(seconds))
        return "waited"

    def hang(self, _):
        time.sleep(600)

    def exception(self, words):
        raise ValueError(words)

    def flood(self, _):
        for _ in range(20):
            sys.stderr.write("flood " * 170_000)
        return "flooded"

    def write(self, name):
        os.makedirs(self.workspace, exist_ok=True)
        with open(os.path.join(self.workspace, name), "w") as file:
            file.write("written")
        return "written"


class OwnProcess(Agent):
    words = f"{WORDS} crash leave garbage offspring start"

    def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
        start = os.environ.get("VIVA_CONFORMANCE_START", "0")
        if start == "crash":
            self.crash("")
        time.sleep(float(start))
        super().__init__(task_description, app_dir, config_var, workspace)

    def crash(self, _):
        print("conformance: last words", file=sys.stderr, flush=True)
        os._exit(3)

    def leave(self, _):
        threading.Timer(0.1, os._exit, (0,)).start()
        return "left"

    def garbage(self, _):
        os.write(2, b"\xff\xfe\x80 garbage\n")
        return "done"

    def offspring(self, _):
        sleeping = "import time; time.sleep(600)"
        return str(subprocess.Popen([sys.executable, "-c", sleeping], start_new_session=True).pid)


class Model(OwnProcess):
    """The model behind an agent of a framework: it is told the whole conversation, and remembers nothing itself."""

    def answer(self, said):
        said = [text.removeprefix("conformance: ") for text in said]
        self.noted = [text.removeprefix("note ") for text in said if text.startswith("note ")]
        return self.get_reply_from_agent(said[-1])

    def note(self, _):
        return "noted"

    def leave(self, _):
        threading.Timer(3, os._exit, (0,)).start()  # the framework has yet to pass the reply on
        return "left"
