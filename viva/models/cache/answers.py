"""The folder of cached answers: one JSON file for each, named by the digest of its question.

The folder is as trustworthy as everyone who can write to it: an answer that is written there becomes a verdict.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from viva.errors import ModelAnswerError, SetupError, SharedSetupError
from viva.models.answer import read_answer
from viva.models.cache.scope import current_scope
from viva.models.marks import remember_marks, with_marks, without_marks
from viva.models.model import CallLimits, Completion, FinishReason, ModelMessage
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE

FORM = 1
"""The version of the files' form."""
NAME = "viva-answers.json"
"""The file that says that a folder holds answers."""
LONGEST_FILE = 4 * 1024 * 1024
"""Maximum size of an answer's file in bytes; the longest answer of a model has 200,000 characters."""
_USABLE: frozenset[FinishReason] = frozenset({"stop", "unknown"})


@dataclass(frozen=True, slots=True)
class _Question:
    """A question without its marks."""

    digest: str
    numbers: dict[str, int]
    """The numbers of its marks, by mark."""


class AnswerCache:
    """Keeps answers in a folder that other processes may use at the same time."""

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: A folder that `open_cache` has checked.
        """
        self.folder = folder
        remember_marks()

    async def answer(
        self,
        name: str,
        identity: str,
        messages: Sequence[ModelMessage],
        schema: type[BaseModel] | None,
        limits: CallLimits,
        ask: Callable[[], Awaitable[Completion]],
    ) -> Completion:
        """Return the kept answer to a question, or ask, and keep the answer.

        What is not a usable answer is not kept. The usage of a kept answer is nothing.

        Args:
            name: The name of the model, which is written beside the answer.
            identity: What tells the model from others. It may hold a password, so that only its digest is kept.
            messages: The conversation.
            schema: The form of the answer.
            limits: The limits of the call.
            ask: Asks the model.

        Raises:
            Exception: what `ask` raises.
            SharedSetupError: the answer cannot be written, so that no later one could either.
        """
        scope = current_scope()
        question = _question(identity, messages, schema, limits)
        file = self._file(question, scope.run, scope.number(question.digest))
        kept = await asyncio.to_thread(_read, file, question, schema)
        if kept is not None:
            scope.from_cache += 1
            scope.used(file)
            return kept
        completion = await ask()
        if completion.finish in _USABLE:
            await asyncio.to_thread(self._write, file, question, name, completion)
            scope.used(file)
        return completion

    def _file(self, question: _Question, run: str, number: int) -> Path:
        name = hashlib.sha256(json.dumps([question.digest, run, number]).encode()).hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.json"

    def _write(self, file: Path, question: _Question, model: str, completion: Completion) -> None:
        data = {
            "form": FORM,
            "model": model,
            "answered": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "text": without_marks(completion.text, question.numbers, known=True),
            "in_schema": completion.value is not None,
            "input_tokens": completion.usage.input_tokens,
            "output_tokens": completion.usage.output_tokens,
            "cost": completion.usage.cost,
        }
        draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(exist_ok=True)
            draft.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
            draft.replace(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise SharedSetupError(
                f"the answer of a model cannot be kept in {self.folder}: {error.strerror}."
            ) from error


def open_cache(folder: str | Path) -> AnswerCache:
    """Open a folder with answers, which is made if it does not exist.

    Raises:
        SetupError: it cannot be made or written, or it is a folder with other files.
    """
    path = Path(folder).expanduser().absolute()
    shown = one_line(str(path), 200)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (path / NAME).is_file():
            if any(path.iterdir()):
                raise SetupError(f"--cache: {shown} holds other files; name a new folder, or one with kept answers.")
            _sign(path)
        form = _form_of(path / NAME)
        writable = os.access(path, os.W_OK | os.X_OK)
    except OSError as error:
        raise SetupError(f"--cache: {shown} cannot be used: {error.strerror}.") from error
    if form != FORM:
        raise SetupError(f"--cache: {shown} holds answers in another form ({form!r}), which this version cannot read.")
    if not writable:
        raise SetupError(f"--cache: {shown} cannot be written.")
    return AnswerCache(path)


def _sign(folder: Path) -> None:
    draft = folder / f".{NAME}.{secrets.token_hex(4)}"
    words = "Answers of language models, kept by `viva … --cache`. Remove the folder to have all questions asked again."
    draft.write_text(json.dumps({"form": FORM, "what": words}) + "\n", encoding="utf-8")
    draft.replace(folder / NAME)


def _form_of(file: Path) -> object:
    try:
        data = json.loads(file.read_bytes()[:LONGEST_FILE])
    except (ValueError, RecursionError):
        return None
    return data.get("form") if isinstance(data, dict) else None


def _question(
    model: str, messages: Sequence[ModelMessage], schema: type[BaseModel] | None, limits: CallLimits
) -> _Question:
    numbers: dict[str, int] = {}
    said = [[each.role, each.name, _content(each, numbers)] for each in messages]
    form = None if schema is None else schema.model_json_schema()
    # What was drawn is text, and numbers stand for marks, so no text can stand for a mark.
    whole = json.dumps([FORM, model, said, form, limits.output_tokens], ensure_ascii=True, sort_keys=True)
    return _Question(hashlib.sha256(whole.encode()).hexdigest(), numbers)


def _content(message: ModelMessage, numbers: dict[str, int]) -> list[Any]:
    parts = (message.content,) if isinstance(message.content, str) else message.content
    return [
        without_marks(part, numbers) if isinstance(part, str) else {"sha256": hashlib.sha256(part.content).hexdigest()}
        for part in parts
    ]


def _read(file: Path, question: _Question, schema: type[BaseModel] | None) -> Completion | None:
    """Return a kept answer; None if there is none, or if its file is damaged."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LONGEST_FILE + 1)
        data = json.loads(content) if len(content) <= LONGEST_FILE else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("form") != FORM or not _are_pieces(data.get("text")):
        return None
    try:
        text = with_marks(data["text"], question.numbers)
        text, value = read_answer(text, "stop", schema if data.get("in_schema") else None)
    except (LookupError, ModelAnswerError):
        return None
    return Completion(text, value, NO_USAGE)


def _are_pieces(value: object) -> bool:
    return isinstance(value, list) and all(type(each) in (str, int) for each in value)
