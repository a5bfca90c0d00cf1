"""JSON that is read piece by piece says what it says as a whole, wherever the pieces end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.recordings import json_pieces
from viva.recordings.json_pieces import Pieces, elements
from viva.recordings.recording import HalfWritten, RecordingError, SourceNotes
from viva.recordings.spans.files import raw_spans

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def read(text: str, piece: int = 1 << 16, keys: tuple[str, ...] = ("spans",)) -> list[Any]:
    with mock.patch.object(json_pieces, "PIECE", piece):
        pieces = Pieces(Path("file.json"), io.BytesIO(text.encode(errors="surrogatepass")))
        found = []
        while pieces.peek():
            found += (each for each, _ in elements(pieces, keys))
        return found


@given(st.lists(VALUES, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_pieces_of_any_size_say_the_same(values: list[Any], piece: int, indent: int | None, within: bool) -> None:
    document = {"before": values, "spans": values, "after": [1.5, {}]} if within else values
    assert read(json.dumps(document, indent=indent, ensure_ascii=False), piece) == values


@given(st.lists(VALUES, min_size=1, max_size=3), st.data())
def test_a_document_that_breaks_off_anywhere_is_unfinished(values: list[Any], data: st.DataObject) -> None:
    text = json.dumps({"before": values, "spans": [*values, 1.5e300, -2, True, "\u00e9"]})
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(HalfWritten):
        read(text[:cut])


@pytest.mark.parametrize("text", ["[1 2]", '{"a" 1}', '["\\x"]', '["\\u00g"]', "{a: 1}", "[tru, 1]", '["\x01"]'])
def test_what_is_damaged_before_its_end_is_not_unfinished(text: str) -> None:
    with pytest.raises(RecordingError) as caught:
        read(text)
    assert not isinstance(caught.value, HalfWritten)


def test_several_documents_follow_each_other() -> None:
    assert read('[1, 2]\n{"spans": [3]}\n\ufeff'.removesuffix("\ufeff") + '{"x": 4} [5]', 2) == [1, 2, 3, {"x": 4}, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2", "line 1: not valid JSON: the file ends too early"),
        ("[1,\n2 3]", "line 2: not valid JSON: expected ',', found '3'"),
        ('{"a": 1,\n\n5: 2}', "line 3: not valid JSON: expected a key in quotes"),
        ("7", "must be a list, or an object"),
        ('["\\ud8"]', "line 1: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_valid_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(RecordingError, match=words):
        read(text, 3)


def test_bytes_that_are_no_text_are_told() -> None:
    pieces = Pieces(Path("file.json"), io.BytesIO(b'["\xff"]'))
    with pytest.raises(RecordingError, match="not UTF-8"):
        list(elements(pieces, ()))


class CountedReads(io.BytesIO):
    """A file that counts how often it is asked for more."""

    asked = 0

    def read(self, size: int | None = -1) -> bytes:
        self.asked += 1
        return super().read(size)

    def readline(self, size: int | None = -1) -> bytes:
        self.asked += 1
        return super().readline(size)


def test_spans_in_lines_are_read_a_line_at_a_time() -> None:
    spans = [{"span_id": f"{number + 1:016x}", "name": "x" * 500} for number in range(50)]
    file = CountedReads("".join(f"{json.dumps(span)}\n" for span in spans).encode())
    assert list(raw_spans(Path("file.jsonl"), file, SourceNotes())) == spans
    assert file.asked <= len(spans) + 2
