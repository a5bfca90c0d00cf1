"""What all players share: they note what they are asked, and wait in a phase until the test lets them go on.

The folder is the one that the variable VIVA_FAULTS names. No Viva is needed: players run in environments without it.
"""

import os
import re
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["VIVA_FAULTS"])


def note(line):
    """Add a line to the log; one write, so that those of other processes do not mix with it."""
    with open(FOLDER / "log", "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def say(words):
    """Write on stderr."""
    sys.stderr.write(f"the last words are {words}\n")
    sys.stderr.flush()


def waits(phase, words):
    """Yield until the test lets go; a file says that somebody waits in the phase."""
    while not (FOLDER / "go").exists():
        (FOLDER / f"in-{phase}-{words}").touch()
        yield


def hold(phase, words):
    """Wait in a phase."""
    for _ in waits(phase, words):
        time.sleep(0.02)


def start_of(folder):
    """Return how a program should start, and its words, by the name of the run's workspace."""
    name = re.match(r"(\d+)_start-([a-z]+)", Path(folder).resolve().name)
    return (name[2], f"w-{name[1]}-start-{name[2]}-w") if name else ("", "")


def split(text):
    """Return a kind of start and its words."""
    kind, _, words = text.partition(" ")
    return kind, words
