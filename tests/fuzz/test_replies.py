"""Replies of any form, from an agent here or behind an address: the agent's reply or its failure, never an excuse."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, changed, damaged, fuzzing
from tests.fuzz.originals import MOST_GROWTH, SECRET, Original, make_original, peak_memory, said
from tests.model_server import Garbage, ModelServer
from viva.adapters.connectors.http.chat import ChatAgent
from viva.adapters.contract import as_reply
from viva.errors import AgentError
from viva.journal.reader import read_records
from viva.records.codec import encode, loads
from viva.records.redact import Keys
from viva.records.run_record import Outcome, RunRecord

AGENT = '''
import json
from pathlib import Path

from viva.records.transcript import Reply, Step, Usage

ODD = {"(a+)+$": object(), "=cmd|' /C calc'!A0": b"\\xff\\x00", "nan": float("nan"), "1e999": {1: {2}}, "~": Path("/")}


def odd(value):
    if isinstance(value, dict):
        return {key: odd(item) for key, item in value.items()}
    if isinstance(value, list):
        return [odd(item) for item in value]
    return ODD.get(value, value) if isinstance(value, str) else value


class Agent:
    """Replies what `reply.json` says, as objects of the right classes where that can be."""

    def __init__(self, task_description):
        self.data = odd(json.loads((Path(__file__).parent / "reply.json").read_text()))

    def get_reply_from_agent(self, message):
        data = self.data
        if not isinstance(data, dict) or not isinstance(data.get("reply"), dict):
            return data
        fields = dict(data["reply"])
        if isinstance(fields.get("steps"), list):
            fields["steps"] = [Step(**each) if isinstance(each, dict) else each for each in fields["steps"]]
        if isinstance(fields.get("usage"), dict):
            fields["usage"] = Usage(**fields["usage"])
        return Reply(**fields)
'''
REPLY: dict[str, Any] = {
    "reply": {
        "text": "No number.",
        "steps": [
            {
                "id": "s1",
                "kind": "tool",
                "tool": "add",
                "tool_input": {"a": [1, 2]},
                "result": "2",
                "images": ["step.png"],
                "attributes": {"more": {"deep": [1]}},
            },
            {"id": "s2", "kind": "think", "thought": "Well.", "parent_id": "s1", "error": None},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2, "calls": 1, "cost": 0.5},
        "images": ["data:image/png;base64,iVBORw0KGgo=", "OUTSIDE/secret.txt"],
    }
}
COMPLETION: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "Hello."}],
                "refusal": None,
                "reasoning_content": "Hm.",
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}],
            },
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    made = make_original(tmp_path_factory.mktemp("fuzz"))
    (made.place / "odd.py").write_text(AGENT)
    return made


def _record(original: Original, value: Any) -> RunRecord:
    place = original.place
    (place / "reply.json").write_bytes(as_json(value))
    exam = ("--agent", "odd.py:Agent", "--evaluators", "strict.py:Strict", "--max-rounds", "2", "--out", "out")
    said("run", "cases/count_0", *exam, cwd=place, allowed=(place / "out",))
    (record,) = read_records(place / "out")
    return record


def test_the_reply_that_is_bent_is_a_reply_as_it_is(original: Original) -> None:
    """Else bending it would show nothing."""
    record = _record(original, REPLY)
    shutil.rmtree(original.place / "out")
    assert (record.outcome, record.rounds) == (Outcome.SCORED, 2)


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(20, each=400, batches=20))
def test_an_odd_reply_is_scored_or_the_agents_failure(original: Original, examples: int, batch: int) -> None:
    place, before = original.place, peak_memory()

    @seed(batch)
    @fuzzing(examples)
    @given(mutations.forged)
    def each(changes: list[Any]) -> None:
        value = changed(REPLY, changes, str(original.outside))
        try:
            record = _record(original, value)
            assert record.outcome in (Outcome.SCORED, Outcome.TARGET_ERROR), record.error
            assert not record.low
            assert original.untouched(), "something outside changed"  # type: ignore[operator]
            kept = [path for path in (place / "out").rglob("*") if path.is_file() and not path.is_symlink()]
            assert not any(SECRET.encode() in path.read_bytes() for path in kept), "a file outside was read"
        finally:
            shutil.rmtree(place / "out", ignore_errors=True)

    each()
    assert peak_memory() - before < MOST_GROWTH


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(60, each=500, batches=12))
def test_what_an_endpoint_answers_is_a_reply_or_the_agents_failure(
    monkeypatch: pytest.MonkeyPatch, one_certificate: Path, examples: int, batch: int
) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", "none")
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", "1")
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    server = ModelServer()
    before = peak_memory()

    async def ask() -> None:
        agent = type("Served", (ChatAgent,), {"url": server.url, "model": "m"})("Talk.")
        try:
            reply = as_reply(await agent.get_reply_from_agent("Hello?"), Keys())
            json.dumps(loads(encode(reply)), allow_nan=False)
        except AgentError:
            pass
        finally:
            await agent.close()

    @seed(batch)
    @fuzzing(examples)
    @given(st.data(), st.booleans(), st.sampled_from([200, 200, 200, 400, 500]))
    def each(data: st.DataObject, forged: bool, code: int) -> None:
        if forged:
            body = as_json(changed(COMPLETION, data.draw(mutations.forged), "/nowhere"))
        else:
            body = damaged(as_json(COMPLETION), data.draw(mutations.blind))
        server.parts["m"] = Garbage(text=body, status=code)
        asyncio.run(ask())

    with server:
        each()
    assert peak_memory() - before < MOST_GROWTH
