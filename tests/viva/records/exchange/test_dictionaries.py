"""Dictionaries make the judges' rules small in a journal, and what was compressed with one is always read again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.judge.exam import review
from viva.judge.scoring_points import by_model
from viva.judge.session import judging
from viva.judge.session.settings import Settings
from viva.judge.session.shots import Shown
from viva.judge.trajectory import asking
from viva.models.prompts import render
from viva.records.exchange.dictionaries import FOLDER, NEWEST, compress, decompress
from viva.records.exchange.packing import IN_LINE

DIGESTS = {
    1: "7973cf21bda5219c3707bf5372df47e12b79698da53afaa233608268e32bc0ac",
    2: "2e029f4b8238564241abfbb4afa891d36eef77a61a86f793bde685259c66edfc",
    3: "a2cb8ed633d483e9aac2deae0833122011cae1e5afd068bd170aefbaa8cd8c9e",
}


def test_a_dictionary_never_changes_because_journals_refer_to_it() -> None:
    found = {int(file.stem): hashlib.sha256(file.read_bytes()).hexdigest() for file in FOLDER.iterdir()}
    assert found == DIGESTS, "never edit or remove a dictionary; add one with the next number"
    assert max(found) == NEWEST
    assert all(len((FOLDER / f"{number}.txt").read_bytes()) <= 32_000 for number in found), "zlib looks back no further"


def prompts() -> Iterator[tuple[str, str]]:
    yield "judge", render(by_model.SYSTEM_PROMPT)
    yield "session", judging.system_prompt(Settings(), Shown("all"))
    yield "reviewer", render(review.SYSTEM_PROMPT)
    for file in sorted(asking.RULES.parent.glob("*.md")):
        if file.name not in ("rules.md", "question.md"):
            yield file.stem, render(file, rules=render(asking.RULES).strip())


@pytest.mark.parametrize(("name", "prompt"), list(prompts()))
def test_the_rules_of_our_judges_take_next_to_nothing(name: str, prompt: str) -> None:
    _, content = compress(prompt.encode())
    assert len(content) <= IN_LINE, f"the prompt of {name} has changed so much that a new dictionary is worth its bytes"


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_what_was_compressed_is_read_as_it_was(plain: bytes) -> None:
    number, content = compress(plain)
    assert decompress(number, content, len(plain)) == plain
    if plain:
        with pytest.raises(ValueError, match="too long"):
            decompress(number, content, len(plain) - 1)


def test_a_dictionary_that_is_not_known_or_not_the_right_one_is_refused() -> None:
    number, content = compress(render(by_model.SYSTEM_PROMPT).encode())
    for wrong in (-1, NEWEST + 1, 10**30, True, "1", None):
        with pytest.raises(ValueError, match="newer form"):
            decompress(wrong, content, 10_000)  # type: ignore[arg-type]
    for wrong in {0, 1, 2} - {number}:
        with pytest.raises(ValueError, match="damaged"):
            decompress(wrong, content, 10_000)
    with pytest.raises(ValueError, match="damaged"):
        decompress(number, content[:-5], 10_000)
