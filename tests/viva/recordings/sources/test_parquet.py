"""Parquet files: cells of every kind are read, and what a file repeats in its rows takes memory for few of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import package
from viva.recordings.files import parquet as parquet_files
from viva.recordings.files.cells import plain
from viva.recordings.files.parquet import rows_of
from viva.recordings.recording import RecordingError
from viva.regular_files import MIB


@contextmanager
def measured() -> Iterator[Any]:
    """Measure what pyarrow allocates; `max_memory()` of what this gives tells the most at any time."""
    pyarrow = package("pyarrow")
    before = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(before)
    pyarrow.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pyarrow.set_memory_pool(before)


def repeated(folder: Path, text: str, rows: int, form: str = "column") -> Path:
    """A file with a text that is stored once, and named in every row."""
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows, pyarrow.int32()), [text])
    if form == "list":
        column = pyarrow.ListArray.from_arrays(pyarrow.array(range(rows + 1), pyarrow.int32()), column)
    elif form == "object":
        column = pyarrow.StructArray.from_arrays([column], ["inner"])
    path = folder / "repeated.parquet"
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 26, "store_schema": form == "categories"}
    parquet.write_table(pyarrow.table({"text": column}), path, **options)
    assert path.stat().st_size < 100_000
    return path


@pytest.mark.parametrize("form", ["column", "categories", "list", "object"])
def test_a_text_that_a_parquet_file_repeats_in_every_row_takes_no_memory_for_each(tmp_path: Path, form: str) -> None:
    path = repeated(tmp_path, "x" * (4 * MIB), 256, form)
    with measured() as pool, path.open("rb") as file:
        with pytest.raises(RecordingError, match="it unpacks to more than 200 times its size"):
            deque(rows_of(path, file), maxlen=0)
        assert pool.max_memory() < 200 * MIB


@pytest.mark.parametrize("form", ["column", "categories", "list", "object"])
def test_a_text_that_is_repeated_as_often_as_a_file_may_unpack_to_is_read(tmp_path: Path, form: str) -> None:
    path = repeated(tmp_path, "ä" * (MIB // 4), 300, form)
    wanted = {"list": ["ä" * (MIB // 4)], "object": {"inner": "ä" * (MIB // 4)}}.get(form, "ä" * (MIB // 4))
    with path.open("rb") as file:
        rows = 0
        for row in rows_of(path, file):
            assert row == {"text": wanted}
            rows += 1
    assert rows == 300


def named_often(text: str, times: int, form: str) -> Any:
    """One row that names a text many times, which the file stores once."""
    pyarrow = package("pyarrow")
    names = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * times, pyarrow.int32()), [text])
    ends = pyarrow.array([0, times], pyarrow.int32())
    if form == "objects":
        return pyarrow.ListArray.from_arrays(ends, pyarrow.StructArray.from_arrays([names], ["inner"]))
    if form == "map":
        return pyarrow.MapArray.from_arrays(ends, pyarrow.array(map(str, range(times))), names)
    column = pyarrow.ListArray.from_arrays(ends, names)
    if form == "lists":
        return pyarrow.ListArray.from_arrays(pyarrow.array([0, 1], pyarrow.int32()), column)
    return pyarrow.StructArray.from_arrays([column], ["inner"]) if form == "list in an object" else column


@pytest.mark.parametrize("form", ["list", "lists", "objects", "list in an object", "map"])
def test_a_text_that_one_row_names_many_times_takes_no_memory_for_each(tmp_path: Path, form: str) -> None:
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    path = tmp_path / "often.parquet"
    column = named_often("x" * (4 * MIB), 100, form)
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 26, "store_schema": False}
    parquet.write_table(pyarrow.table({"text": column}), path, **options)
    with measured() as pool, path.open("rb") as file:
        with pytest.raises(RecordingError, match="it unpacks to more than 200 times its size"):
            deque(rows_of(path, file), maxlen=0)
        assert pool.max_memory() < 100 * MIB


@pytest.mark.parametrize("kind", ["numbers", "yes", "fixed", "texts"])
def test_a_row_of_more_values_than_a_file_may_unpack_to_is_refused_before_it_is_read(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    monkeypatch.setattr(parquet_files, "most_unpacked", lambda size: MIB)
    many = 9 * MIB if kind == "yes" else 300_000
    value, of = {
        "numbers": (7, pyarrow.int64()),
        "yes": (True, pyarrow.bool_()),
        "fixed": (b"12345678", pyarrow.binary(8)),
        "texts": ("a", pyarrow.string()),
    }[kind]
    column = pyarrow.array([[value] * many], pyarrow.list_(of))
    path = tmp_path / "many.parquet"
    parquet.write_table(pyarrow.table({"many": column}), path, compression="zstd")
    with measured() as pool, path.open("rb") as file:
        with pytest.raises(RecordingError, match="it unpacks to more than 200 times its size"):
            next(rows_of(path, file))
        assert pool.max_memory() < MIB // 2


@pytest.mark.parametrize("kind", ["yes", "small numbers", "objects", "lists", "map"])
def test_a_row_of_many_small_values_is_refused_before_python_objects_are_made_of_it(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    monkeypatch.setattr(parquet_files, "most_unpacked", lambda size: MIB)
    value, of = {
        "yes": (True, pyarrow.bool_()),
        "small numbers": (7, pyarrow.int8()),
        "objects": ({"a": 7}, pyarrow.struct([("a", pyarrow.int8())])),
        "lists": ([], pyarrow.list_(pyarrow.bool_())),
        "map": ([(1, True)], pyarrow.map_(pyarrow.int8(), pyarrow.bool_())),
    }[kind]
    many = 20_000 if kind in ("yes", "small numbers") else 3_000
    path = tmp_path / "many.parquet"
    table = pyarrow.table({"many": pyarrow.array([[value] * many], pyarrow.list_(of))})
    assert table.nbytes < MIB // 8
    parquet.write_table(table, path, compression="zstd")
    with path.open("rb") as file, pytest.raises(RecordingError, match="it unpacks to more than 200 times its size"):
        next(rows_of(path, file))
    few = pyarrow.table({"many": pyarrow.array([[value]], pyarrow.list_(of))})
    parquet.write_table(few, path, compression="zstd")
    with path.open("rb") as file:
        assert len(list(rows_of(path, file))) == 1


def test_long_values_of_a_fixed_length_are_read_few_at_a_time(tmp_path: Path) -> None:
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    value = b"x" * (8 * MIB)
    column = pyarrow.array([value] * 16, pyarrow.binary(len(value)))
    parquet.write_table(pyarrow.table({"a": column}), tmp_path / "fixed.parquet", compression="zstd")
    with measured() as pool, (tmp_path / "fixed.parquet").open("rb") as file:
        next(rows_of(tmp_path / "fixed.parquet", file))
        assert pool.max_memory() < 16 * len(value) + 64 * MIB


CELLS: dict[str, list[Any]] = {
    "text": ["a", "b", None, "a", ""],
    "bytes": [b"a", None, b"b", b"", b"a"],
    "list": [["a", "b"], [], None, ["a", None], ["c"]],
    "object": [{"x": "a", "y": [1, 2]}, None, {"x": None, "y": None}, {"x": "b", "y": []}, {"x": "a", "y": [3]}],
    "objects": [[{"x": "a"}, {"x": "b"}], [], None, [{"x": None}], [{"x": "a"}]],
    "number": [1, 2, None, 4, 5],
    "decimal": [Decimal("1.5"), None, Decimal("2.5"), Decimal("0.1"), Decimal("1.5")],
    "time": [datetime(2026, 1, 1, tzinfo=UTC), None, *[datetime(2026, 1, 2, tzinfo=UTC)] * 3],
    "yes": [True, None, False, True, True],
    "nothing": [None] * 5,
}


@pytest.mark.parametrize(
    "kind", ["as it is", "large", "categories", "map", "fixed list", "without a dictionary", "view"]
)
@pytest.mark.parametrize("at_once", [1 << 26, 1])
def test_cells_of_every_kind_are_read_from_parquet(
    tmp_path: Path, kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    monkeypatch.setattr(parquet_files, "MOST_AT_ONCE", at_once)
    table = pyarrow.table(CELLS)
    if kind == "large":
        large = pyarrow.large_list(pyarrow.large_string())
        table = pyarrow.table(
            {
                "text": pyarrow.array(CELLS["text"], pyarrow.large_string()),
                "bytes": pyarrow.array(CELLS["bytes"], pyarrow.large_binary()),
                "list": pyarrow.array(CELLS["list"], large),
            }
        )
    elif kind == "categories":
        texts = pyarrow.array(CELLS["text"]).dictionary_encode()
        table = pyarrow.table({"text": texts, "number": pyarrow.array(CELLS["number"]).dictionary_encode()})
    elif kind == "map":
        map_type = pyarrow.map_(pyarrow.string(), pyarrow.string())
        maps = [[("a", "b")], None, [], [("a", "c"), ("d", None)], [("a", "b")]]
        table = pyarrow.table({"map": pyarrow.array(maps, map_type)})
    elif kind == "fixed list":
        pairs = [["a", "b"], None, ["a", "a"], ["c", None], ["a", "b"]]
        table = pyarrow.table({"pair": pyarrow.array(pairs, pyarrow.list_(pyarrow.string(), 2))})
    elif kind == "view":
        table = pyarrow.table({"text": pyarrow.array(CELLS["text"], pyarrow.string_view())})
    path = tmp_path / "cells.parquet"
    parquet.write_table(table, path, use_dictionary=kind != "without a dictionary", row_group_size=3)
    expected = [{k: v for k, c in row.items() if (v := plain(c)) is not None} for row in table.to_pylist()]
    with path.open("rb") as file:
        assert list(rows_of(path, file)) == expected
