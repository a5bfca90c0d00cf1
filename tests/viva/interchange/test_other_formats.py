"""Sources of other tools are recognised, imported whole, and stay whole however their values change."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import shutil
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.viva.interchange.accounting import leaves
from tests.viva.interchange.imports import SOURCES, Imported
from tests.viva.interchange.test_round_trips import PLATFORMS
from viva.cases.field_readers import CaseReader
from viva.cases.yaml.lines import LineNumbers
from viva.errors import SetupError
from viva.interchange import CaseDraft, SourceFile
from viva.interchange.formats import ImportOptions, format_named, recognised
from viva.interchange.ledger import canonical, scalars

ALL = {
    "adk/library.evalset.json": ("adk", 4),
    "adk/older.test.json": ("adk", 1),
    "adk/camel.evalset.json": ("adk", 1),
    "adk": ("adk", 6),
    "deepeval/goldens.json": ("deepeval", 2),
    "deepeval/conversations.json": ("deepeval", 2),
    "deepeval/goldens.csv": ("deepeval", 2),
    "deepeval/goldens.jsonl": ("deepeval", 2),
    "openai_evals/samples.jsonl": ("openai-evals", 5),
    "openai_evals/capitals.yaml": ("openai-evals", 2),
    "pydantic_evals/geography.yaml": ("pydantic-evals", 3),
    "pydantic_evals/numbers.json": ("pydantic-evals", 1),
    "tau2/tasks.json": ("tau2", 2),
    "inspect/samples.jsonl": ("inspect", 4),
    "inspect/samples.csv": ("inspect", 2),
    "harbor": ("harbor", 2),
    "harbor/count-lines": ("harbor", 1),
}

UNKNOWN = {"[3].mood", "evalCases[0].conversation[0].invocationIndex", "evalCases[0].anything.else"}
"""Fields of these files that are in none of the formats."""


@pytest.mark.parametrize("name", ALL)
def test_a_source_is_recognised_and_nothing_of_it_is_dropped(name: str, tmp_path: Path) -> None:
    imported = Imported(SOURCES / name, tmp_path / "out")
    assert (imported.report.format, len(imported.cases)) == ALL[name]
    assert imported.dropped() == []
    unknown = {each.path.rpartition(": ")[2] for each in imported.report.reported if each.kind == "not read"}
    assert unknown <= UNKNOWN


@pytest.mark.parametrize("name", [name for name in ALL if "." in name])
def test_every_leaf_of_a_file_is_a_leaf_of_its_tree(name: str) -> None:
    file = SourceFile(SOURCES / name)
    assert sorted(map(str, (node.path for node in file.tree().leaves()))) == sorted(
        str(path) for path, _ in leaves(_parsed(SOURCES / name))
    )


def _parsed(file: Path) -> Any:
    text = file.read_text()
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if file.suffix == ".yaml":
        return yaml.safe_load(text)
    if file.suffix == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
        return [
            {key: json.loads(cell) if cell[:1] == "{" or cell[:2] == "[{" else cell for key, cell in row.items()}
            for row in rows
        ]
    return json.loads(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def changed(data: st.DataObject, document: Any) -> Any:
    """A document in which some values are others, are missing, or have others beside them."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        node = document
        while True:
            keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and node[key] and data.draw(st.booleans() | st.just(True)):
                node = node[key]
                continue
            break
        if isinstance(node, dict):
            what = data.draw(st.sampled_from(["replace", "remove", "add"]))
            name = (
                data.draw(st.sampled_from(list(node) or ["new"])) if what != "add" else data.draw(st.text(max_size=6))
            )
            if what == "remove":
                node.pop(name, None)
            else:
                node[name] = data.draw(VALUES)
        elif node:
            node[data.draw(st.integers(0, len(node) - 1))] = data.draw(VALUES)
    return document


DOCUMENTS = [name for name in ALL if name.endswith((".json", ".jsonl", ".yaml"))]


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_value_is_it_is_in_a_case_or_in_the_report(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("source")
    document = changed(data, _parsed(SOURCES / name))
    source = folder / f"source{'.evalset.json' if name.startswith('adk') else Path(name).suffix}"
    if source.suffix == ".jsonl":
        source.write_text("\n".join(json.dumps(row) for row in document))
    else:
        source.write_text(json.dumps(document))
    if name.startswith("openai_evals"):
        shutil.copytree(SOURCES / "openai_evals" / "capitals", folder / "capitals")
    file = SourceFile(source)
    try:
        drafts = format_named(ALL[name][0]).load().read(file, ImportOptions())
    except SetupError:  # nothing in it can be imported any more, and the message says so
        return
    assert missing(file, drafts) == []
    assert {leaf.path for leaf in file.ledger if not leaf.document} == {path for path, _ in leaves(file.tree().peek())}


def missing(file: SourceFile, drafts: Sequence[CaseDraft]) -> list[tuple[str, Any]]:
    """The leaves of a source that are neither in the cases nor decide their form nor are in the report."""
    written = [
        *(sound(draft) for draft in drafts),
        *(draft.columns for draft in drafts),
        [draft.reference for draft in drafts],
    ]
    file.ledger.close(written)
    text = "\n".join(canonical(value) for value in scalars(written))
    return [
        (str(leaf.path), leaf.value)
        for leaf in file.ledger
        if not (leaf.is_empty or leaf.notes or leaf.expressed or canonical(leaf.value) in text)
    ]


def sound(draft: CaseDraft) -> Any:
    """The document of a case, which the reader of cases accepts."""
    document = draft.document()
    given = [each for each in document.get("data_files", ()) if each not in draft.files]
    data = {**document, "data_files": given or None}
    reader = CaseReader(data, LineNumbers(), Path("case.yaml"))
    reader.read()
    assert reader.mistakes == [], (reader.mistakes, document)
    return [document, {name: content.decode("utf-8", "replace") for name, content in draft.files.items()}]


@pytest.mark.parametrize("name", [name for name in ALL if "." in name])
def test_a_source_of_one_tool_is_not_taken_for_one_of_another(name: str) -> None:
    file = SourceFile(SOURCES / name)
    assert recognised(file).name == ALL[name][0]


def test_rows_of_a_platform_are_still_rows(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text('[{"input": "Hi", "expected": "Hello", "metadata": {"a": 1}, "tags": ["x"]}]')
    assert recognised(SourceFile(source)).name == "rows"
    source.write_text('[{"input": "Hi", "expected_output": "Hello"}]')
    assert recognised(SourceFile(source)).name == "rows"


@pytest.mark.parametrize("platform", PLATFORMS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_whatever_a_row_of_a_platform_is_it_is_in_a_case_or_in_the_report(
    platform: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    source = tmp_path_factory.mktemp("rows") / "rows.json"
    source.write_text(json.dumps(changed(data, PLATFORMS[platform])))
    file = SourceFile(source)
    with contextlib.suppress(SetupError):  # no row says any more what the agent is asked
        assert missing(file, list(format_named("rows").load().read(file, ImportOptions()))) == []


SAMPLE = {
    "id": 1,
    "epoch": 1,
    "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
    "choices": ["3", "4"],
    "target": "B",
    "sandbox": ["docker", "compose.yaml"],
    "files": {"a.txt": "text"},
    "setup": "touch x",
    "messages": [{"role": "user", "content": "2 + 2?"}],
    "output": {"model": "m", "choices": [], "completion": "ANSWER: B"},
    "scores": {"choice": {"value": "C", "answer": "B", "explanation": "It is.", "metadata": {}}},
    "metadata": {"level": "easy"},
    "store": {"seen": [1]},
    "events": [{"event": "model"}],
    "model_usage": {"m": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}},
    "attachments": {"9f": "long"},
    "total_time": 1.5,
    "uuid": "u",
    "error": None,
}
LOG = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "sums",
        "model": "m",
        "config": {"epochs": 2, "epochs_reducer": ["mean"]},
        "dataset": {"name": "d"},
    },
    "plan": {"steps": [{"solver": "generate"}]},
    "results": {"total_samples": 1, "scores": []},
    "stats": {"model_usage": {}},
}


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_whatever_a_log_holds_is_in_a_case_or_in_the_report(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    source = tmp_path_factory.mktemp("log") / "log.eval"
    sample = changed(data, SAMPLE)
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("header.json", json.dumps(LOG))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    file = SourceFile(source)
    try:
        drafts = list(format_named("inspect").load().read(file, ImportOptions()))
    except SetupError:  # it is no sample any more, and the message says so
        return
    assert missing(file, drafts) == []
    # What was recorded is reported by its names: a log has millions of values.
    told = " ".join(canonical(step) for leaf in file.ledger for step in leaf.path)
    assert [key for key, value in sample.items() if value is not None and canonical(str(key)) not in told] == []


def toml_of(value: Any) -> str:
    """Plain data as a value of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_of(str(key))} = {toml_of(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) or "." in repr(value) else f"{value}.0"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def without_nothing(value: Any) -> Any:
    """Plain data that TOML can hold: it has no null, and numbers of 64 bits."""
    if isinstance(value, dict):
        return {key: without_nothing(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nothing(each) for each in value if each is not None]
    return max(-(2**62), min(2**62, value)) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("name", ["count-lines", "two-steps"])
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_whatever_a_task_of_harbor_says_is_in_a_case_or_in_the_report(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("task") / name
    shutil.copytree(SOURCES / "harbor" / name, folder)
    settings_of_task = tomllib.loads((folder / "task.toml").read_text())
    changed_settings = without_nothing(changed(data, settings_of_task))
    lines = (f"{toml_of(str(key))} = {toml_of(value)}\n" for key, value in changed_settings.items())
    (folder / "task.toml").write_text("".join(lines))
    file = SourceFile(folder)
    try:
        drafts = list(format_named("harbor").load().read(file, ImportOptions()))
    except SetupError:  # a step that has no folder
        return
    assert missing(file, drafts) == []
