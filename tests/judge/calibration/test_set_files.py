"""Labelled sets of users: every way to write one, and messages that say what is wrong, where, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viva.errors import SetupError
from viva.judge.calibration.sets import load_set
from viva.judge.view import show
from viva.records.transcript import StepKind

ITEM = """
- id: one
  kind: sums
  task: Ask for 1 + 1.
  rounds:
    - {examiner: "1 + 1?", agent: "2"}
  points:
    - {statement: "The agent says 2.", label: hit}
"""


def written(folder: Path, text: str, name: str = "set.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_an_item_becomes_the_case_and_the_transcript_that_a_judge_sees(tmp_path: Path) -> None:
    loaded = load_set(written(tmp_path, ITEM))
    (item,) = loaded.items
    assert (item.id, item.kind, item.hostile, loaded.size) == ("one", "sums", False, 1)
    assert (item.case.task_description, item.case.background) == ("Ask for 1 + 1.", None)
    assert [(each.point.score_point, each.point.weight, each.label) for each in item.points] == [
        ("The agent says 2.", 1.0, "hit")
    ]
    assert item.case.scoring_points == tuple(each.point for each in item.points)
    assert show(item.transcript).text == "[round 1] examiner:\n    1 + 1?\n[round 1] agent:\n    2"


def test_json_lines_and_folders_hold_the_same(tmp_path: Path) -> None:
    plain = {
        "id": "two",
        "kind": "sums",
        "task": "Ask for 1 + 1.",
        "rounds": [{"examiner": "1 + 1?", "agent": "2"}],
        "points": [{"statement": "The agent says 2.", "label": "hit", "weight": 2.5}],
    }
    lines = written(tmp_path, f"{json.dumps(plain)}\n\n", "b.jsonl")
    written(tmp_path, ITEM, "a.yaml")
    written(tmp_path, "not a set", "readme.txt")
    assert [item.id for item in load_set(lines).items] == ["two"]
    both = load_set(tmp_path)
    assert [item.id for item in both.items] == ["one", "two"]
    assert both.items[0].digest == both.items[1].digest, "a judge sees the same of both"


def test_what_is_repeated_is_written_once(tmp_path: Path) -> None:
    text = """
- id: long
  kind: long
  task: Count.
  source: recorded
  rounds:
    - {first: 1, last: 2, examiner: "Round {n}", agent: "{n}"}
    - examiner: And now?
      agent: ["Here: ", {say: "{n}, ", first: 8, last: 10}, "done"]
      steps:
        - {first: 1, last: 2, tool: check, input: "link {n}", result: "ok {n}"}
        - {thought: "Done."}
  points:
    - {statement: "The agent counts.", label: hit}
"""
    (item,) = load_set(written(tmp_path, text)).items
    rounds = item.transcript.rounds
    assert [(each.number, each.examiner, each.agent) for each in rounds] == [
        (1, "Round 1", "1"),
        (2, "Round 2", "2"),
        (3, "And now?", "Here: 8, 9, 10, done"),
    ]
    assert [(step.id, step.kind, step.tool_input, step.result) for step in rounds[2].steps] == [
        ("r3s1", StepKind.TOOL, "link 1", "ok 1"),
        ("r3s2", StepKind.TOOL, "link 2", "ok 2"),
        ("r3s3", StepKind.THINK, None, None),
    ]
    assert "recorded" in show(item.transcript).text


def test_the_digest_changes_with_what_a_judge_sees_and_with_labels_alone(tmp_path: Path) -> None:
    loaded = load_set(written(tmp_path, ITEM))
    relabelled = load_set(written(tmp_path, ITEM.replace("label: hit", "label: miss"), "b.yaml"))
    said = load_set(written(tmp_path, ITEM.replace('agent: "2"', 'agent: "3"'), "c.yaml"))
    assert len({loaded.digest, relabelled.digest, said.digest}) == 3
    assert loaded.items[0].digest == relabelled.items[0].digest != said.items[0].digest


MISTAKES = [
    (
        ITEM.replace("label: hit", "label: yes"),
        ":8: points.0.label: ",
        "True is not a label; write hit, miss or unsure; in YAML,",
    ),
    (ITEM.replace("label: hit", "label: 1"), ":8: points.0.label: ", "1 is not a label; write hit, miss or unsure"),
    (
        ITEM.replace("label: hit", "label: Hit"),
        ":8: points.0.label: ",
        "'Hit' is not a label; write hit, miss or unsure",
    ),
    (ITEM.replace("label: hit", "lable: hit"), ":8: points.0.lable: ", "Extra inputs are not permitted"),
    (ITEM.replace('agent: "2"', "agent: 2"), ":6: rounds.0.agent: ", "must be text, or a list of texts"),
    (ITEM.replace("  kind: sums\n", ""), ":2: kind: ", "Field required"),
    (ITEM + ITEM, ":10: id 'one' is the id of an earlier item", "each requires its own"),
    (ITEM.replace("{examiner", "{first: 3, last: 1, examiner"), ":6: rounds.0: ", "there must be 1 to 10,000 numbers"),
    (ITEM.replace("{examiner", "{first: 3, examiner"), ":6: rounds.0: ", "'first' and 'last' belong together"),
    (ITEM.replace("  task:", "  kind: other\n  task:"), ":4: the key 'kind' is given twice", "remove one"),
    (ITEM.replace("label: hit", "label: hit, weight: 0"), ":8: points.0.weight: ", "greater than 0"),
    ("- just text\n", ":1: the item: ", "valid dictionary"),
    ("id: one\n", " is not a labelled set: ", "it must be a list of items"),
    ("", " is not a labelled set: ", "it must be a list of items"),
    ("[]\n", " holds no items", "viva docs formats"),
    ("- {id: [\n", "cannot be read", "is not valid YAML"),
]


@pytest.mark.parametrize(("text", "where", "what"), MISTAKES)
def test_a_mistake_is_named_with_its_line(text: str, where: str, what: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SetupError) as error:
        load_set(file)
    assert where in str(error.value)
    assert what in str(error.value)
    assert str(file) in str(error.value)


def test_all_mistakes_are_named_at_once_but_not_thousands(tmp_path: Path) -> None:
    bad = "".join(ITEM.replace("one", f"item-{n}").replace("label: hit", "label: maybe") for n in range(30))
    with pytest.raises(SetupError) as error:
        load_set(written(tmp_path, bad))
    assert str(error.value).count("points.0.label") == 20
    assert "further mistakes: 10" in str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.yaml", "there is no labelled set"),
        ("set.txt", "its name must end in one of .yaml, .yml, .jsonl"),
        ("broken.jsonl", ":2 is not a line of JSON"),
        ("folder", "holds no labelled set"),
    ],
)
def test_what_is_not_a_set_is_refused(name: str, words: str, tmp_path: Path) -> None:
    written(tmp_path, "x", "set.txt")
    written(tmp_path, "\n{", "broken.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SetupError, match=words):
        load_set(tmp_path / name)


REPEATED = """
- id: absurd
  kind: k
  task: t
  rounds:
    - {{{rounds}, agent: "a", steps: [{{{steps}, tool: x, result: [{{say: "0123456789", {pieces}}}]}}]}}
  points:
    - {{statement: s, label: hit}}
"""
ONCE, OFTEN = "first: 1, last: 1", "first: 1, last: 10000"


@pytest.mark.parametrize(
    ("often", "limit"),
    [
        (("rounds", "steps", "pieces"), "4,194,304"),
        (("rounds", "pieces"), "4,194,304"),
        (("steps", "pieces"), "4,194,304"),
        (("rounds", "steps"), "4,194,304"),
        (("rounds",), ""),
        (("pieces",), ""),
    ],
)
def test_an_item_of_absurd_size_is_refused_with_its_name_and_the_limit_before_it_is_made(
    often: tuple[str, ...], limit: str, tmp_path: Path
) -> None:
    repeats = {name: OFTEN if name in often else ONCE for name in ("rounds", "steps", "pieces")}
    file = written(tmp_path, REPEATED.format(**repeats))
    if not limit:
        load_set(file)
        return
    with pytest.raises(SetupError) as error:
        load_set(file)
    for words in (str(file), "item 'absurd'", limit):
        assert words in str(error.value)


def test_rounds_and_steps_without_words_are_limited(tmp_path: Path) -> None:
    text = REPEATED.format(rounds="first: 1, last: 200", steps="first: 1, last: 200", pieces=ONCE)
    with pytest.raises(SetupError, match="item 'absurd' has 40,200 rounds and steps, and may have 20,000"):
        load_set(written(tmp_path, text))


def test_long_texts_are_refused_before_they_are_made(tmp_path: Path) -> None:
    pieces = [{"say": "x" * 1_000, "first": 1, "last": 10_000}] * 1_000
    item = {"id": "absurd", "kind": "k", "task": "t", "points": [{"statement": "s", "label": "hit"}]}
    rounds = [
        {"agent": pieces},
        *[{"agent": [{"say": "{n}" * 100_000, "first": 10**900, "last": 10**900 + 9_999}]}] * 9,
    ]
    file = written(tmp_path, json.dumps({**item, "rounds": rounds}), "set.jsonl")
    with pytest.raises(SetupError) as error:
        load_set(file)
    assert "item 'absurd' has 10,000,000 characters, and may have 4,194,304 up to here" in str(error.value)


def test_a_set_of_many_long_items_is_refused_with_the_item_and_the_limit(tmp_path: Path) -> None:
    text = REPEATED.format(rounds=ONCE, steps=ONCE, pieces=OFTEN).replace("0123456789", "0123456789" * 40)
    file = written(tmp_path, "".join(text.replace("absurd", f"long-{number}") for number in range(40)))
    with pytest.raises(SetupError, match=r"set\.yaml is too large: up to item 'long-33' it has 136,.* 134,217,728"):
        load_set(file)
