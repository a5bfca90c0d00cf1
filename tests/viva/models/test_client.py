"""The answers of a model: reasoning is taken out, floods and odd bytes end in words, and nothing of them is a pass."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ModelAt
from tests.model_server import Answer, Garbage, ModelServer
from viva.errors import ModelAnswerError, ModelError
from viva.models.answer import LONGEST_ANSWER
from viva.models.model import ModelMessage

ASK = [ModelMessage("user", "Say something.")]


async def said(text: str, model_at: ModelAt) -> str:
    with ModelServer({"m": text}) as server:
        return (await model_at(server.url).ask(ASK)).text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\nShould I say EXAM_FINISHED? No.\n</think>\n\nPlease add 2.", "Please add 2."),
        ("<think></think>Please add 2.", "Please add 2."),
        ("<thinking>Hm.</thinking> Please add 2.", "Please add 2."),
        ("So, the next is 2.\n</think>\nPlease add 2.", "Please add 2."),
        ("So, the next is 2.</think>", ""),
        ('<think>{"verdict": "hit"}</think>\n{"verdict": "miss"}', '{"verdict": "miss"}'),
        ('{"reason": "it wrote </think> and no more"}', '{"reason": "it wrote </think> and no more"}'),
        ("Write </think> into the file.", "Write </think> into the file."),
        ("I think so.", "I think so."),
    ],
)
async def test_reasoning_that_a_server_leaves_in_front_is_no_part_of_the_answer(
    text: str, answer: str, model_at: ModelAt
) -> None:
    assert await said(text, model_at) == answer


async def test_reasoning_without_an_end_is_no_answer(model_at: ModelAt) -> None:
    with pytest.raises(ModelAnswerError, match="only unfinished reasoning"):
        await said("<think>So, the next is 2. Please add 2.", model_at)


async def test_a_flood_is_no_answer(model_at: ModelAt) -> None:
    assert len(await said("x" * LONGEST_ANSWER, model_at)) == LONGEST_ANSWER
    with pytest.raises(ModelAnswerError, match="10,000,000 characters long"):
        await said("x" * 10_000_000, model_at)


def body(content: object) -> str:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})


@pytest.mark.parametrize(
    "text",
    [
        body(7),
        body([{"type": "text", "text": "hi"}]),
        '{"a":' * 100_000,
        json.dumps({"id": "1", "choices": []}),
        json.dumps({"error": {"message": "overloaded"}}),
        "[1, 2]",
        "7",
        "",
    ],
    ids=lambda text: text[:60],
)
async def test_an_odd_body_ends_in_words_and_in_no_other_error(text: str, model_at: ModelAt) -> None:
    with ModelServer({"m": Garbage(text=text)}) as server, pytest.raises((ModelError, ModelAnswerError)) as caught:
        await model_at(server.url).ask(ASK)
    assert 0 < len(str(caught.value)) < 500


async def test_half_a_character_is_written_out_so_that_it_can_be_sent_again(model_at: ModelAt) -> None:
    with ModelServer({"m": Garbage(text=body("a\ud800b"))}) as server:
        model = model_at(server.url)
        content = (await model.ask(ASK)).text
        assert content == "a\\ud800b"
        await model.ask([*ASK, ModelMessage("assistant", content)])


async def test_an_event_stream_that_nobody_asked_for_is_named(model_at: ModelAt) -> None:
    with (
        ModelServer({"m": Garbage(text="data: {}\n\n", content_type="text/event-stream")}) as server,
        pytest.raises(ModelError, match="does not follow the protocol"),
    ):
        await model_at(server.url).ask(ASK)


async def test_a_refusal_is_an_answer_without_words(model_at: ModelAt) -> None:
    with ModelServer({"m": Answer(None, refusal="I will not.")}) as server:
        assert not (await model_at(server.url).ask(ASK)).text
