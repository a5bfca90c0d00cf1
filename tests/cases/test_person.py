"""Cases that describe a person: every form of every key, its mistakes with line and nearest key, and contradictions."""

from __future__ import annotations

import string
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from viva.api.given_cases import with_own_hash
from viva.cases import (
    Case,
    CaseError,
    CaseStrategy,
    DoneWhen,
    Insistence,
    User,
    UserFact,
    bundled,
    find_case,
    lint_case,
    load_case,
    load_cases,
)
from viva.cases.person_words import person_lines
from viva.records.codec import decode, encode, loads

START = """\
task_description: |
  1. Ask for a table.
  2. Ask for a menu.
scoring_points: [{score_point: It books., weight: 1}]
"""
"""The next line is number 5."""
KEYS = {"user", "facts", "opening", "insist", "done_when", "background", "strategy"}


def load(folder: Path, more: str) -> Case:
    (folder / "case.yaml").write_text(START + more, encoding="utf-8")
    return load_case(folder)


FORMS = [
    ("user: terse", "user", User("terse")),
    (
        "user: {persona: An old sailor., mood: cheerful, language: German, style: rhymes, patience: none}",
        "user",
        User("An old sailor.", "cheerful", "German", "rhymes", "none"),
    ),
    (
        "user: {patience: 3}",
        "user",
        User(patience="runs out after 3 unhelpful replies in a row; then you say so and stop"),
    ),
    ("user: {patience: 1}", "user", User(patience="runs out after 1 unhelpful reply; then you say so and stop")),
    ("facts: [The dog is called Rex.]", "facts", (UserFact("The dog is called Rex."),)),
    ("facts: [{says: A, when: start}]", "facts", (UserFact("A", "start"),)),
    ("facts: [{says: A}, {says: B, when: never}]", "facts", (UserFact("A"), UserFact("B", "never"))),
    ("facts: [{says: A, when: {step: 2}}]", "facts", (UserFact("A", "step", 2),)),
    ("facts: [{says: A, when: step 2}]", "facts", (UserFact("A", "step", 2),)),
    ("facts: [{says: A, when: 'step: 2'}]", "facts", (UserFact("A", "step", 2),)),
    ("facts:\n  - says: A\n    when:\n      step: 2", "facts", (UserFact("A", "step", 2),)),
    ("opening: Hello.", "opening", "Hello."),
    ("insist: a window seat", "insist", Insistence("a window seat")),
    ("insist: {on: a window seat, times: 2}", "insist", Insistence("a window seat", 2)),
    ("done_when: the table is booked", "done_when", DoneWhen("the table is booked")),
    ("done_when: {content: it is booked, gives_up: it is full}", "done_when", DoneWhen("it is booked", "it is full")),
    ("done_when: {gives_up: it is full}", "done_when", DoneWhen(gives_up="it is full")),
    ("background: One guest is allergic.", "background", "One guest is allergic."),
    ("strategy: role-play", "strategy", CaseStrategy("role-play")),
    ("strategy: {name: role-play, goal: a free meal}", "strategy", CaseStrategy("role-play", "a free meal")),
    ("strategy: {goal: a free meal}", "strategy", CaseStrategy(goal="a free meal")),
]


@pytest.mark.parametrize(("text", "key", "value"), FORMS, ids=[form[0][:50] for form in FORMS])
def test_every_form_of_a_key_is_read_survives_a_journal_and_is_the_same_in_python(
    text: str, key: str, value: object, tmp_path: Path
) -> None:
    case = load(tmp_path, text)
    assert getattr(case, key) == value
    assert decode(Case, loads(encode(case))) == case
    assert getattr(with_own_hash(case), key) == value, "the reader takes what it has read"
    assert list(person_lines(case))


MISTAKES = [
    ("user: 3", 5, "user must be text or a mapping with persona, mood, language, style, patience, not 3"),
    ("user: {}", 5, "user is empty"),
    ("user: ' '", 5, "user is empty"),
    ("user: {personna: terse}", 5, "unknown key 'personna'; did you mean 'persona'?"),
    ("user: {language: no}", 5, "language of user must be text, not False; put it in quotes"),
    ("user:\n  mood: ''", 6, "mood of user is empty"),
    ("user: {patience: 0}", 5, "patience of user must be a whole number from 1 to 100, not 0"),
    ("facts: Rex", 5, "facts must be a list of facts, not 'Rex'"),
    ("facts: []", 5, "facts must be a list of facts, not []"),
    ("facts:\n- 3", 6, "a fact must be text or a mapping with says, when, not 3"),
    ("facts:\n- says: A\n  wen: asked", 7, "unknown key 'wen'; did you mean 'when'?"),
    ("facts:\n- when: asked", 6, "says is missing"),
    ("facts:\n- says: 9", 6, "says must be text, not 9; put it in quotes"),
    (
        "facts:\n- says: A\n  when: nevr",
        7,
        "when must be start, asked, never or step: N, not 'nevr'; did you mean 'never'?",
    ),
    ("facts:\n- says: A\n  when: step", 7, "did you mean 'step: N'?"),
    ("facts:\n- says: A\n  when: 4", 7, "when must be start, asked, never or step: N, not 4"),
    ("facts:\n- says: A\n  when: {step: 0}", 7, "step must be a whole number from 1 to 100, not 0"),
    ("facts:\n- says: A\n  when: {stp: 1}", 7, "unknown key 'stp'; did you mean 'step'?"),
    ("opening: [Hello]", 5, "opening must be text, not ['Hello']; put it in quotes"),
    ("insist: {times: 3}", 5, "insist requires 'on'"),
    ("insist: {on: a seat, times: many}", 5, "times of insist must be a whole number from 1 to 100, not 'many'"),
    ("done_when: {contents: x}", 5, "unknown key 'contents'; did you mean 'content'?"),
    ("done_when: [x]", 5, "done_when must be text or a mapping with content, gives_up, not ['x']"),
    ("background: 7", 5, "background must be text, not 7; put it in quotes"),
    ("strategy: {gaol: x}", 5, "unknown key 'gaol'; did you mean 'goal'?"),
    ("bakground: x", 5, "unknown key 'bakground'; did you mean 'background'?"),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES, ids=[each[0][:50] for each in MISTAKES])
def test_a_mistake_is_told_with_its_line_and_the_nearest_key(text: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        load(tmp_path, text)
    found = [(each.line, each.message) for each in caught.value.mistakes]
    assert any(at == line and words in message for at, message in found), found


CONTRADICTIONS = [
    (
        "facts: [{says: 'The code is 4711!', when: never}]\nopening: Hi, the  code is 4711",
        True,
        "is in the opening",
    ),
    ("facts: [{says: ask for a menu, when: never}]", True, "is in the task"),
    ("facts: [{says: Rex, when: never}, {says: 'My dog is Rex.', when: start}]", True, "is in fact 2"),
    (
        "facts: [{says: Rex, when: start}, {says: rex., when: asked}]",
        True,
        "is also fact 1, with the condition 'start'",
    ),
    ("facts: [Rex, Rex]", False, "is also fact 1, with the same condition"),
    ("facts: [{says: A, when: {step: 9}}]", True, "step 9 does not exist: the last step that the task numbers is 2"),
    ("facts: [{says: A, when: {step: 2}}]\nmax_rounds: 1", True, "step 2 is never reached: max_rounds is 1"),
    (
        "facts: [{says: I am Ada, when: start}]\nopening: Hello.",
        False,
        "the opening is sent as it is and lacks this fact",
    ),
    ("facts: [I am Ada]\nopening: Hello. I am Ada.", False, "which is to be told only when asked"),
    ("facts: [{says: I am Ada, when: step 2}]\nopening: I am Ada.", False, "which is to be told with step 2"),
    ("insist: {on: x, times: 5}\nmax_rounds: 5", False, "times is 5, but max_rounds allows 5 messages in all"),
    ("strategy: {goal: it books}", False, "goal repeats scoring point 1"),
    ("strategy: role-play", False, "without a goal, the examiner tries to make the agent break any rule"),
]


@pytest.mark.parametrize(("text", "certain", "words"), CONTRADICTIONS, ids=[each[0][:50] for each in CONTRADICTIONS])
def test_a_contradiction_is_found(text: str, certain: bool, words: str, tmp_path: Path) -> None:
    found = [(each.certain, each.message) for each in lint_case(load(tmp_path, text))]
    assert [kind for kind, message in found if words in message] == [certain], found


SOUND = [
    "facts: [{says: A secret., when: never}, {says: B, when: step 2}, {says: C, when: start}]\nopening: C, please.",
    "facts: [{says: 'no', when: never}]",
    "insist: {on: x, times: 4}\nmax_rounds: 5",
    "strategy: {name: role-play, goal: a free meal}",
]


@pytest.mark.parametrize("text", SOUND)
def test_what_does_not_contradict_itself_is_not_reported(text: str, tmp_path: Path) -> None:
    assert lint_case(load(tmp_path, text)) == []


def test_a_case_without_these_keys_is_stored_as_before(tmp_path: Path) -> None:
    """The hash of a case that was made in Python is taken of what is stored of it."""
    for name in bundled():
        for case in load_cases(find_case(name)):
            assert not KEYS & loads(encode(case)).keys()
    assert not KEYS & loads(encode(load(tmp_path, ""))).keys()
    assert list(person_lines(load(tmp_path, ""))) == []


words = st.text(string.ascii_letters + " äß雨'#:-{}[]\n", min_size=1, max_size=30).filter(lambda text: text.strip())
facts = st.one_of(
    words,
    st.fixed_dictionaries(
        {"says": words},
        optional={
            "when": st.one_of(
                st.sampled_from(["start", "asked", "never", "step 7"]),
                st.fixed_dictionaries({"step": st.integers(1, 100)}),
            )
        },
    ),
)
people = st.fixed_dictionaries(
    {},
    optional={
        "user": st.one_of(
            words,
            st.fixed_dictionaries(
                {"persona": words},
                optional={"mood": words, "language": words, "patience": st.one_of(words, st.integers(1, 100))},
            ),
        ),
        "facts": st.lists(facts, min_size=1, max_size=5),
        "opening": words,
        "insist": st.one_of(words, st.fixed_dictionaries({"on": words}, optional={"times": st.integers(1, 100)})),
        "done_when": st.one_of(words, st.fixed_dictionaries({"content": words, "gives_up": words})),
        "background": words,
        "strategy": st.one_of(words, st.fixed_dictionaries({"goal": words}, optional={"name": words})),
    },
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 200), st.floats(), words),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["persona", "says", "when", "step", "on", "times", "content", "goal", "name", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


def written(folder: str, person: dict[str, Any]) -> Path:
    case = {"task_description": "Ask.", "scoring_points": [{"score_point": "x", "weight": 1}], **person}
    (Path(folder) / "case.yaml").write_text(yaml.safe_dump(case, allow_unicode=True), encoding="utf-8")
    return Path(folder)


@given(people)
def test_every_sound_person_loads_and_comes_back_from_a_journal_and_from_python(person: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        case = load_case(written(folder, person))
        lint_case(case)
    assert decode(Case, loads(encode(case))) == case
    for key in person:
        assert getattr(with_own_hash(case), key) == getattr(case, key)
    text = " ".join(person_lines(case))
    assert bool(text) is bool(person)


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), anything, max_size=3))
def test_whatever_stands_under_these_keys_is_read_or_refused_with_a_line(person: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = written(folder, person)
        try:
            case = load_case(path)
        except CaseError as error:
            case, mistakes = None, error.mistakes
    if case is None:
        assert all(each.line and len(each.message) < 400 for each in mistakes)
    else:
        assert decode(Case, loads(encode(case))) == case
