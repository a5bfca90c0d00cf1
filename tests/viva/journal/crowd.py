"""One of the processes that write one journal at once in `test_many_writers.py`: eight threads, and a log of what was
appended. Run as `python crowd.py FOLDER LOG NAME RECORDS_PER_THREAD TORN`."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import re
import resource
import sys
import threading
import time
import zlib
from pathlib import Path

from viva.journal.images import keep_pictures
from viva.journal.writer import FILE, Journal, JournalError
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Round

THREADS = 8
PICTURES, LONG_TEXTS = 20, 200
"""Every so manieth record comes with a round that has a picture, or a text too long for a line."""
_TOOK = re.compile(r"only (\d+) of")


def record_of(run: str) -> RunRecord:
    """The record of a run, all of which follows from its id."""
    words = hashlib.sha256(run.encode()).hexdigest() * (1 + len(run) % 7)
    return RunRecord(
        run, "crowd", run.partition("-")[0], Outcome.TARGET_ERROR, 0.5, error=f"{words} ☃", tags=(words[:9],)
    )


def picture_of(run: str) -> bytes:
    """A small PNG with content of its own."""
    noise = hashlib.sha512(run.encode()).digest() * 8
    return b"\x89PNG\r\n\x1a\n" + zlib.compress(noise)


def text_of(run: str) -> str:
    """A text too long for a line."""
    return f"{hashlib.sha256(run.encode()).hexdigest()}\r\n" * 1100


def round_of(run: str, number: int) -> Round | None:
    """The round that comes before a record, if one does."""
    picture, text = number % PICTURES == 0, number % LONG_TEXTS == 0
    if not picture and not text:
        return None
    address = f"data:image/png;base64,{base64.b64encode(picture_of(run)).decode()}"
    return Round(1, run, text_of(run) if text else "short", images=(address,))


def write(journal: Journal, log: int, name: str, count: int) -> None:
    """Append records; whatever the disk does not take is not logged, and not tried again."""
    for number in range(count):
        run = f"{name}-{number}"
        try:
            if (round_ := round_of(run, number)) is not None:
                journal.append("round", run, 1, keep_pictures(round_, journal, None))
                os.write(log, f"round {run}\n".encode())
            journal.append("run", run, 1, record_of(run))
            os.write(log, f"run {run}\n".encode())
        except JournalError as error:
            # Only a write that began and did not end tears a line.
            if (found := _TOOK.search(str(error))) is not None and int(found[1]):
                os.write(log, f"torn {run}\n".encode())
            time.sleep(0.002)


def tear(journal: Journal, log: int, name: str) -> None:
    """Have this process's own writes meet the end of a disk that is full, until one of them is torn.

    Others may write between the look at the size and the write. At the latest when they have ended, a write is torn:
    every record is longer than what there is room for.
    """
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for number in itertools.count():
        run = f"{name}-torn-{number}"
        size = (journal.folder / FILE).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
        try:
            journal.append("run", run, 1, record_of(run))
            os.write(log, f"run {run}\n".encode())
        except JournalError as error:
            if (found := _TOOK.search(str(error))) is not None and int(found[1]):
                os.write(log, f"torn {run}\n".encode())
                break
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def main() -> None:
    """Write as the arguments say."""
    folder, log_path, name, count, torn = sys.argv[1:]
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Journal(Path(folder)) as journal:
        threads = [
            threading.Thread(target=write, args=(journal, log, f"{name}.{number}", int(count)))
            for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        if torn == "torn":
            tear(journal, log, name)
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
