"""The folder with kept answers, below the client of a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.examples import examples
from viva.errors import SetupError, SharedSetupError
from viva.models.cache.answers import NAME, AnswerCache, open_cache
from viva.models.cache.scope import answers_of
from viva.models.client import ModelClient
from viva.models.factory import identity
from viva.models.marks import new_mark, remember_marks, with_marks, without_marks
from viva.models.model import NO_LIMITS, CallLimits, Completion, ModelFeatures, ModelMessage, PictureFile
from viva.records.transcript import Usage


class Answer(BaseModel):
    mark: str
    verdict: str


class Provider:
    """Repeats the last word of the question, as models repeat a mark."""

    name = "m"
    features = ModelFeatures()

    def __init__(self, verdict: str = "") -> None:
        self.calls = 0
        self.verdict = verdict
        """What it always answers, with its line breaks as they are."""

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        self.calls += 1
        content = messages[-1].content
        text = content if isinstance(content, str) else next(part for part in content if isinstance(part, str))
        data = {"mark": text.split()[-1], "verdict": f"hit {self.calls}"}
        answer = json.dumps(data)
        if self.verdict:
            answer = answer.replace(f"hit {self.calls}", self.verdict)
        return Completion(answer, usage=Usage.answered(10, 5))

    async def why_unusable(self) -> str:
        return ""

    async def close(self) -> None:
        pass


def client(folder: Path, verdict: str = "") -> tuple[ModelClient, Provider]:
    provider = Provider(verdict)
    return ModelClient(provider, cache=open_cache(folder)), provider


async def ask(model: ModelClient, *parts: str | PictureFile, limits: CallLimits = NO_LIMITS) -> Completion:
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
    return await model.ask([ModelMessage("user", content)], Answer, limits)


async def test_an_answer_gets_the_marks_of_the_question_that_is_asked(tmp_path: Path) -> None:
    model, provider = client(tmp_path / "answers")
    for _ in range(3):
        with answers_of("run-1"):
            mark = new_mark(4)
            completion = await ask(model, f"=== {mark} text {mark} === {mark}")
        assert isinstance(completion.value, Answer)
        assert completion.value.mark == mark
    assert provider.calls == 1
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert mark not in kept


async def test_votes_and_runs_are_draws_of_their_own_whatever_their_order(tmp_path: Path) -> None:
    model, provider = client(tmp_path / "answers")

    async def verdicts(run: str, votes: int) -> set[str]:
        with answers_of(run):
            found = await asyncio.gather(*(ask(model, f"Is it so? {new_mark(4)}") for _ in range(votes)))
        return {each.value.verdict for each in found if isinstance(each.value, Answer)}

    first, second = await verdicts("run-1", 3), await verdicts("run-2", 3)
    assert len(first | second) == 6
    assert (await verdicts("run-1", 3), await verdicts("run-2", 3)) == (first, second)
    assert provider.calls == 6
    assert len(await verdicts("run-1", 4) - first) == 1


async def test_other_words_pictures_limits_and_models_are_other_questions(tmp_path: Path) -> None:
    model, provider = client(tmp_path / "answers")

    async def asked(*parts: str | PictureFile, limits: CallLimits = NO_LIMITS) -> int:
        with answers_of("run"):
            await ask(model, *parts, limits=limits)
        return provider.calls

    assert await asked("one mark") == 1
    assert await asked("one mark") == 1
    assert await asked("two mark") == 2
    assert await asked("one mark", PictureFile(b"\xff\xd8\xff1")) == 3
    assert await asked("one mark", PictureFile(b"\xff\xd8\xff2")) == 4
    assert await asked("one mark", limits=CallLimits(50)) == 5
    assert await asked("one mark", limits=CallLimits(seconds=50)) == 5, "time changes no answer"
    other = ModelClient(provider, cache=open_cache(tmp_path / "answers"), identity="another")
    with answers_of("run"):
        await ask(other, "one mark")
    assert provider.calls == 6


async def test_a_mark_is_what_was_drawn_and_nothing_that_looks_like_one(tmp_path: Path) -> None:
    model, provider = client(tmp_path / "answers")
    for commit in ("0123abcd", "89abcdef"):  # another question
        with answers_of("run"):
            await ask(model, f"What is {commit}? mark")
    assert provider.calls == 2


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff", b"[]", b"[" * 9999, b'{"form": 1}', b'{"form": 1, "text": "x"}'),
        *(b'{"form": 1, "text": [5]}', b'{"form": 1, "text": [true]}'),
        b'{"form": 1, "text": ["no verdict"], "in_schema": true}',
    ],
)
async def test_a_damaged_answer_is_asked_again_and_replaced(tmp_path: Path, content: bytes) -> None:
    model, provider = client(tmp_path / "answers")
    for expected in (1, 2, 2):
        with answers_of("run"):
            await ask(model, "one mark")
        assert provider.calls == expected
        if expected == 1:
            (file,) = (each for each in tmp_path.rglob("*.json") if each.name != NAME)
            file.write_bytes(content)


async def test_line_breaks_inside_of_an_answers_strings_do_not_make_it_be_asked_again(tmp_path: Path) -> None:
    model, provider = client(tmp_path / "answers", verdict="one\ntwo")
    for _ in range(2):
        with answers_of("run"):
            completion = await ask(model, "one mark")
        assert isinstance(completion.value, Answer)
        assert completion.value.verdict == "one\ntwo"
    assert provider.calls == 1


async def test_answers_that_cannot_be_removed_fail_no_run(tmp_path: Path) -> None:
    model, _ = client(tmp_path / "answers")
    with answers_of("run") as answers:
        await ask(model, "one mark")
        (file,) = (each for each in tmp_path.rglob("*.json") if each.name != NAME)
        file.unlink()
        file.parent.rmdir()
        file.parent.write_text("no folder any more")
        answers.forget()


def test_the_address_belongs_to_the_question_also_if_it_is_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("provider: autogen_ext.models.openai.OpenAIChatCompletionClient\nconfig: {model: m}\n")
    found = set()
    for address in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        found |= {identity("openai:m"), identity(str(file))}
    assert len(found) == 4


async def test_a_password_in_an_address_is_not_written(tmp_path: Path) -> None:
    model = ModelClient(Provider(), cache=open_cache(tmp_path / "answers"), identity="m at http://me:secret@host/v1")
    await ask(model, "one mark")
    assert "secret" not in "".join(each.read_text() for each in tmp_path.rglob("*.json"))


async def test_a_folder_that_vanishes_is_reported(tmp_path: Path) -> None:
    model, _ = client(tmp_path / "answers")
    (tmp_path / "answers" / NAME).unlink()
    (tmp_path / "answers").rmdir()
    with pytest.raises(SharedSetupError, match=r"cannot be kept in .*answers: No such file"):
        await ask(model, "one mark")


def test_folders_are_made_and_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "answers"
    assert isinstance(open_cache(folder), AnswerCache)
    assert folder.stat().st_mode & 0o77 == 0, "answers may quote what nobody else may read"
    open_cache(folder)
    with pytest.raises(SetupError, match=r"cannot be used: Not a directory|cannot be used: File exists"):
        open_cache(folder / NAME)


@given(st.lists(st.sampled_from(["mark", "0123abcd", "é", " ", "\ud800", "f" * 40, "x"]), max_size=12))
@settings(max_examples=examples(60))
def test_texts_come_back_whole(words: list[str]) -> None:
    remember_marks()
    today, tomorrow = new_mark(4), new_mark(4)
    text = "-".join(today if word == "mark" else word for word in words)
    numbers: dict[str, int] = {}
    pieces = without_marks(text, numbers)
    assert with_marks(pieces, numbers) == text
    assert with_marks(pieces, {tomorrow: 0}) == text.replace(today, tomorrow)
