"""The samples of a log: what was asked becomes cases, and what was answered is a recording."""

from __future__ import annotations

from typing import Any

from viva.errors import SetupError
from viva.interchange.files import SourceFile
from viva.interchange.ledger import Gap
from viva.interchange.plain_data import plain_data
from viva.interchange.source import Source
from viva.recordings.recording import RecordingError
from viva.recordings.sessions.inspect_logs import log_samples

ASKED = ("id", "input", "choices", "target", "metadata", "files", "setup", "sandbox")
"""The fields of a logged sample that the dataset had."""
LOG = ".eval"


def is_log(source: SourceFile) -> bool:
    """Return whether a file is a log: an archive, or a document with `eval` and `samples`."""
    if source.suffix == LOG:
        return True
    if source.suffix != ".json":
        return False
    document = source.tree().peek()
    return isinstance(document, dict) and isinstance(document.get("eval"), dict) and "samples" in document


def log_tree(source: SourceFile) -> Source:
    """Return the samples of a log, each once, without what was recorded; that is in the report.

    Raises:
        SetupError: the file is not a log.
    """
    header: dict[str, Any] = {}
    samples: dict[str, dict[str, Any]] = {}
    recorded: dict[str, dict[str, Any]] = {}
    repeated: list[str] = []
    try:
        for head, sample in log_samples(source.path):
            header = {key: value for key, value in head.items() if key != "samples"}
            name = str(sample.get("id"))
            if name in samples:
                repeated.append(f"{name}, epoch {sample.get('epoch')}")
                continue
            samples[name] = {key: value for key, value in sample.items() if key in ASKED and value is not None}
            recorded[name] = {key: _size(value) for key, value in sample.items() if key not in ASKED}
    except RecordingError as error:
        raise SetupError(str(error)) from error
    document = {"samples": list(samples.values()), "recorded": recorded, "epochs": repeated, "log": header}
    tree = Source.root(plain_data(document, source.path.name), source.ledger, source.path.name)
    command = f"viva trace inspect:{source.path.name}"
    for name, why in (
        ("recorded", f"is part of a recorded run: `{command}` imports it as a journal"),
        ("epochs", f"is the same sample again: `{command}` imports each epoch"),
        ("log", "is about a whole evaluation, not about a case"),
    ):
        part = tree.get(name)
        if part is not None:
            part.report(Gap.NO_HOME, why)
    return tree


def _size(value: Any) -> Any:
    """Return a scalar, or how many entries there are: a log has millions of values."""
    return f"{len(value):,} entries" if isinstance(value, list | dict) and value else value
