"""Limits what an Inspect log holds once and its recordings hold many times: attachments, and the header's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viva.recordings.files.packed import most_unpacked
from viva.recordings.json_pieces import MOST_DOCUMENT
from viva.recordings.recording import RecordingError
from viva.regular_files import in_words

_ATTACHED = "attachment://"
_TWICE = 2
"""The first message is in `input` and in `messages`, so that each attachment may be named twice."""
MOST_ATTACHED = _TWICE * MOST_DOCUMENT
"""Maximum number of characters of a sample's attachments, counted wherever its messages name one."""


class Repeats:
    """Counts what a log holds once and its recordings hold many times: the header's names, and attachments.

    Without a limit, a log of a few megabytes could fill the memory and the disk.
    """

    def __init__(self, path: Path) -> None:
        try:
            size = path.stat().st_size
        except OSError:
            size = 0  # opening it says why
        self._most = self._left = _TWICE * most_unpacked(size)

    def see(self, place: str, *values: Any) -> int:
        """Count values; return how many characters they have.

        Raises:
            RecordingError: all that were counted are too large together.
        """
        length = sum(len(v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)) for v in values)
        self._left -= length
        if self._left < 0:
            raise RecordingError(
                f"{place}: it repeats what the log holds once; up to here, that is more than {in_words(self._most)}, "
                "the maximum for a log of this size."
            )
        return length

    def resolved(self, place: str, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put long texts and pictures, which a sample holds once as attachments, where its messages name them.

        Raises:
            RecordingError: they are too large, counted wherever they are named.
            RecursionError: the messages are nested too deeply.
        """
        attached = sample.get("attachments")
        if not isinstance(attached, Mapping) or not attached:
            return sample
        left = MOST_ATTACHED

        def resolve(value: Any) -> Any:
            nonlocal left
            if isinstance(value, str) and value.startswith(_ATTACHED):
                name = value.removeprefix(_ATTACHED)
                if name not in attached:
                    return value
                left -= self.see(place, attached[name])
                if left < 0:
                    raise RecordingError(
                        f"{place}: its attachments have more than {MOST_ATTACHED:,} characters, the maximum, counted "
                        "wherever its messages name them."
                    )
                return attached[name]
            if isinstance(value, list):
                return [resolve(each) for each in value]
            if isinstance(value, Mapping):
                return {key: resolve(each) for key, each in value.items()}
            return value

        return {**sample, "messages": resolve(sample["messages"]), "input": resolve(sample.get("input"))}
