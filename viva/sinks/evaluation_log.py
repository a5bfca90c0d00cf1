"""The sink `evaluation_log`: writes evaluations of sessions in the format of UFO's `evaluation.log`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from viva.errors import SetupError
from viva.judge.session.evaluation_log import append_evaluations, evaluation_of, write_evaluations
from viva.judge.session.evaluator import SessionEvaluator
from viva.plugins.kinds import split
from viva.recordings.table import READERS
from viva.records.run_record import RunRecord
from viva.records.sink import Sink
from viva.records.transcript import Transcript


class EvaluationLogSink:
    """Appends to one file, or writes each evaluation into a file in the folder of its session."""

    def __init__(self, path: str = "", *, sources: Sequence[Path] = ()) -> None:
        """Args:
        path: The file. If it is empty, each evaluation goes into the folder of its session.
        sources: The folders that the user named. Nothing is written into a session's folder that is not inside them.

        Raises:
            SetupError: neither is given, or the file cannot be written.
        """
        if not path and not sources:
            raise SetupError("the sink evaluation_log requires a file: --sink evaluation_log:FILE.")
        self._file = Path(path).absolute() if path else None
        self._sources = [source.resolve() for source in sources]
        if self._file is not None:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                append_evaluations(self._file, [])
            except OSError as error:
                raise SetupError(
                    f"the sink evaluation_log cannot write {self._file}: {error.strerror or error}."
                ) from error

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Write the evaluations of one run: first that of the session, then those of its rounds.

        Raises:
            OSError: they could not be written.
        """
        insights = [each for each in record.insights if each.evaluator == SessionEvaluator.name and each.details]
        entries = [evaluation_of(each) for each in insights if each.details.get("level") in ("session", "round")]
        if self._file is not None:
            await asyncio.to_thread(append_evaluations, self._file, entries)
        elif (folder := self._folder(record)) is not None:
            await asyncio.to_thread(write_evaluations, folder, entries)

    async def close(self) -> None:
        """Do nothing: no file stays open."""

    def _folder(self, record: RunRecord) -> Path | None:
        place = record.setting.place if record.setting is not None else ""
        folder = Path(place).resolve()
        if not place or not folder.is_dir() or not any(folder.is_relative_to(source) for source in self._sources):
            return None
        return folder


def folder_logs(recordings: Sequence[str], sinks: Sequence[str]) -> list[tuple[str, Sink]]:
    """Return the sink that writes into the folders of UFO's sessions, as UFO does.

    Args:
        recordings: SPECs of the sources that the user named.
        sinks: SPECs of the sinks that the user named. If one of them is an `evaluation_log`, there is none beside it.
    """
    folders = [Path(source) for reader, source in (split(READERS, spec) for spec in recordings) if reader == "ufo"]
    if not folders or any(spec.partition(":")[0] == "evaluation_log" for spec in sinks):
        return []
    return [("evaluation_log", EvaluationLogSink(sources=folders))]
