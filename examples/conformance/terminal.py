"""The same program for a person in a terminal: `pytest --viva-conformance "cmd+plain:python terminal.py"`."""

import sys
import time

import json_lines


def main():
    json_lines.WORDS = "echo note recall empty size wait hang exception crash leave garbage write offspring start"
    json_lines.begin()
    print("> ", end="", flush=True)
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").removeprefix("conformance: ").partition(" ")
        if word == "exception":
            sys.exit(rest)
        print(json_lines.reply(word, rest))
        print("> ", end="", flush=True)
        if word == "leave":
            time.sleep(0.2)  # a terminal shows the end of a reply by the next prompt
            break


if __name__ == "__main__":
    main()
