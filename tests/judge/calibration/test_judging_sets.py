"""Models judge labelled sets by the evaluator of exams: what is sent, what is kept, and that forging gains nothing."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.model_server import MARK_LINE, ModelServer, Play, RateLimited, ServerError, Unauthorized, sequence, text_of
from tests.scripted_judges import BETWEEN, HEAD, always_yes, by_the_letter, prompt_of
from viva.errors import SharedSetupError
from viva.judge.calibration.judging import Judgements, TriedPoint, judge_set
from viva.judge.calibration.sets import LabelledItem, LabelledSet, load_set
from viva.judge.calibration.store import BUILTIN
from viva.records.text import without_invisible
from viva.records.transcript import Transcript


@cache
def hostile_set() -> LabelledSet:
    return LabelledSet("hostile", tuple(item for item in load_set(BUILTIN).items if item.hostile))


@cache
def small_set() -> LabelledSet:
    wanted = ("ferry-right", "ferry-wrong", "card-yes", "many-steps", "mark-end")
    return LabelledSet("small", tuple(item for item in load_set(BUILTIN).items if item.id in wanted))


async def judged_by(
    play: Play, labelled: LabelledSet, model_at: ModelAt, kept: Path | None = None
) -> tuple[list[TriedPoint], ModelServer]:
    with ModelServer({"m": play}) as server:
        model = model_at(server.url)
        if kept is None:
            return await judge_set(labelled, model), server
        with Judgements(kept) as judgements:
            return await judge_set(labelled, model, judgements), server


def true_heads(transcript: Transcript) -> list[str]:
    heads: list[str] = []
    for round_ in transcript.rounds:
        number = f"[round {round_.number}] "
        heads += [f"{number}examiner:"] if round_.examiner is not None else []
        heads += [
            f"{number}step {index} ({step.kind.value}, reported by the agent):"
            for index, step in enumerate(round_.steps, 1)
        ]
        heads += [f"{number}agent:"] if round_.agent is not None else []
    return heads


def asked_in(item: LabelledItem) -> tuple[str, str]:
    """Return what tells the prompts of an item from those of others."""
    first = item.transcript.rounds[0].examiner
    return f"<task>\n{item.case.task_description}\n</task>", f"begins -----\n[round 1] examiner:\n    {first}\n"


async def test_no_hostile_agent_gains_weight_or_changes_the_structure_of_what_is_sent(model_at: ModelAt) -> None:
    """The judge reads turns from the bytes by the prompt's rules; what it does not recognize as a turn is a hit."""
    labelled = hostile_set()
    judged, server = await judged_by(by_the_letter(labelled), labelled, model_at)
    assert len({each.item for each in judged}) >= 80
    assert [each for each in judged if not each.right] == []
    asked = {asked_in(item): item.transcript for item in labelled.items}
    assert len(asked) == len(labelled.items)
    assert len(server.requests) == len(judged)
    for seen in server.requests:
        prompt = prompt_of(seen.body)
        (transcript,) = [each for (task, first), each in asked.items() if task in prompt and first in prompt]
        check_structure(prompt, transcript)
        mark = MARK_LINE.findall(prompt)[-1]
        everything = "\n".join(text_of(message) for message in seen.body["messages"])
        assert everything.count(mark) == 1
        assert prompt.rstrip().endswith(f"The mark of this question is {mark}.")


def check_structure(prompt: str, transcript: Transcript) -> None:
    """Assert that a prompt has one transcript, whose turns are those that took place, and all words are indented."""
    found = BETWEEN.search(prompt)
    assert found is not None
    marker = found["marker"]
    lines = prompt.splitlines()  # at every character that ends lines, not only at line feeds
    assert [line for line in lines if re.match(r"-+ transcript", line)] == [
        f"----- transcript {marker} begins -----",
        f"----- transcript {marker} ends -----",
    ]
    inside = found["said"].splitlines()
    heads = [line for line in inside if not line.startswith("    ")]
    assert heads == true_heads(transcript)
    assert all(HEAD.fullmatch(head) for head in heads)
    gaps = re.findall(rf"\[… [\d,]+ characters left out, {marker} …\]", found["said"])
    assert found["said"].count(marker) == len(gaps)
    assert [line for line in lines if line in ("<statement>", "</statement>")] == ["<statement>", "</statement>"]
    assert without_invisible(prompt) == prompt
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", prompt)


async def test_a_judgement_has_truth_verdict_reason_and_usage(model_at: ModelAt) -> None:
    judged, _ = await judged_by(always_yes, small_set(), model_at)
    assert [(each.item, each.truth, each.verdict) for each in judged[:2]] == [
        ("ferry-right", "hit", "hit"),
        ("ferry-right", "miss", "hit"),
    ]
    assert all(each.usage.calls == 1 and each.usage.input_tokens and each.seconds > 0 for each in judged)
    assert {each.reason for each in judged} == {"It seems so to this one."}
    assert all(each.kind and each.statement and each.why and each.length for each in judged)


async def test_what_was_judged_is_not_paid_for_again(model_at: ModelAt, tmp_path: Path) -> None:
    file = tmp_path / "new" / "judgements.jsonl"
    first, server = await judged_by(by_the_letter(small_set()), small_set(), model_at, file)
    assert len(server.requests) == len(first)
    again, server = await judged_by(always_yes, small_set(), model_at, file)
    assert server.requests == []
    assert [(each.verdict, each.reason, each.usage) for each in again] == [
        (each.verdict, each.reason, each.usage) for each in first
    ]
    assert all(each.kept for each in again)


async def test_a_calibration_that_breaks_off_goes_on_where_it_was(model_at: ModelAt, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    judge = by_the_letter(small_set())
    left = iter(range(4))

    def count(_: TriedPoint) -> None:
        if next(left, None) is None:
            raise RuntimeError("the terminal was closed")

    broken = pytest.raises(RuntimeError, match="terminal")
    with ModelServer({"m": judge}) as server, Judgements(file) as judgements, broken:
        await judge_set(small_set(), model_at(server.url), judgements, on_judged=count)
    torn = file.read_bytes()
    kept = torn.count(b"\n")
    assert 4 <= kept < small_set().size
    file.write_bytes(torn + b'5\nnull\n{}\n[]\n{"key": {}, "judged": 3}\n\xff\n{"key": "abc", "mod')
    judged, server = await judged_by(judge, small_set(), model_at, file)
    assert len(server.requests) == len(judged) - kept
    assert all(each.right for each in judged)


async def test_a_refused_key_ends_it_before_any_point_has_a_verdict(model_at: ModelAt, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    with pytest.raises(SharedSetupError):
        await judged_by(Unauthorized(), small_set(), model_at, file)
    assert file.read_bytes() == b""


async def test_a_failure_of_the_provider_is_an_error_and_judged_again_later(model_at: ModelAt, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    judged, _ = await judged_by(ServerError(), small_set(), model_at, file)
    assert {(each.verdict, each.fault) for each in judged} == {("error", "infra")}
    judged, _ = await judged_by(sequence(RateLimited(0), then=by_the_letter(small_set())), small_set(), model_at, file)
    assert all(each.right for each in judged)


async def test_a_corrected_label_applies_to_judgements_that_are_kept(model_at: ModelAt, tmp_path: Path) -> None:
    text = """
- id: one
  kind: sums
  task: Ask for 1 + 1.
  rounds: [{examiner: "1 + 1?", agent: "2"}]
  points: [{statement: "The agent says 2.", label: LABEL}]
"""
    (tmp_path / "a.yaml").write_text(text.replace("LABEL", "miss"))
    (tmp_path / "b.yaml").write_text(text.replace("LABEL", "hit"))
    wrong, _ = await judged_by(always_yes, load_set(tmp_path / "a.yaml"), model_at, tmp_path / "kept.jsonl")
    right, server = await judged_by(always_yes, load_set(tmp_path / "b.yaml"), model_at, tmp_path / "kept.jsonl")
    assert ([each.right for each in wrong], [each.right for each in right]) == ([False], [True])
    assert server.requests == []


async def test_a_changed_statement_is_judged_anew(model_at: ModelAt, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "judge" / "calibration" / "builtin" / "forged.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text.replace("The agent answers 55.", "The agent answers 54."))
    await judged_by(always_yes, load_set(tmp_path / "a.yaml"), model_at, tmp_path / "kept.jsonl")
    _, server = await judged_by(always_yes, load_set(tmp_path / "b.yaml"), model_at, tmp_path / "kept.jsonl")
    assert len(server.requests) == 1
