"""`evaluation.log`: UFO's shape, one in a file as UFO reads it, or a line each in a file of many."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.evaluation_logs import as_ufo_reads, read_evaluations
from tests.judge.session.asked import folder_of, judge, said, sub
from viva.judge.session.evaluation_log import append_evaluations, evaluation_of, write_evaluations
from viva.judge.session.settings import Settings


async def test_two_evaluations_appended_to_one_log_read_back_as_two(tmp_path: Path, model_at: ModelAt) -> None:
    folder = folder_of(tmp_path)
    log = folder / "evaluation.log"
    log.write_bytes(b"")  # UFO makes an empty one when it starts
    for answer in (said("yes", sub("sent")), said("no", sub("sent", "no", reason="Not\nsent."))):
        (insight,), _ = await judge(answer, model_at, folder)
        append_evaluations(log, [evaluation_of(insight)])
    found = read_evaluations(log)
    assert [entry["complete"] for entry in found.entries] == ["yes", "no"]
    assert found.broken == 0
    first = found.entries[0]
    assert first["sub_scores"] == [{"name": "sent", "evaluation": "yes"}]
    assert (first["level"], first["request"], first["type"]) == ("session", "Request 0", "evaluation_result")
    assert {"reason", "cost", "attempts", "sub_goals"} <= set(first)


async def test_a_judging_that_failed_is_unsure_with_an_error_and_never_yes(tmp_path: Path, model_at: ModelAt) -> None:
    (insight,), _ = await judge("garbage {", model_at, folder_of(tmp_path))
    entry = evaluation_of(insight)
    assert (entry["complete"], entry["sub_scores"]) == ("unsure", [])
    assert "no usable verdict after 3 questions" in entry["error"]


async def test_each_round_has_a_line_with_its_own_cost(tmp_path: Path, model_at: ModelAt) -> None:
    insights, _ = await judge(said("yes", sub("a", quote="", step="final")), model_at, folder_of(tmp_path, 4, rounds=2),
                              Settings(level="both"))  # fmt: skip
    entries = [evaluation_of(insight) for insight in insights]
    assert [(entry["level"], entry.get("round")) for entry in entries] == [
        ("session", None),
        ("round", 1),
        ("round", 2),
    ]
    assert all(entry["attempts"][0]["input_tokens"] > 0 for entry in entries)


def test_a_log_of_ufos_with_one_object_over_several_lines_is_one_evaluation(tmp_path: Path) -> None:
    log = tmp_path / "evaluation.log"
    log.write_text(json.dumps({"complete": "yes", "sub_scores": []}, indent=4))
    assert [entry["complete"] for entry in read_evaluations(log).entries] == ["yes"]


def test_each_evaluation_has_a_file_and_ufo_reads_the_first(tmp_path: Path) -> None:
    (tmp_path / "evaluation.log").write_bytes(b"")  # UFO makes an empty one when it starts
    for complete in ("yes", "no", "unsure"):
        write_evaluations(tmp_path, [{"complete": complete}])
        assert as_ufo_reads(tmp_path) == {"complete": "yes"}
    assert {path.name: json.loads(path.read_text())["complete"] for path in tmp_path.iterdir()} == {
        "evaluation.log": "yes", "evaluation_2.log": "no", "evaluation_3.log": "unsure",
    }  # fmt: skip


def test_numbers_go_on_after_the_last_and_links_are_passed_by(tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("mine")
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "evaluation.log").write_text("{}")
    (folder / "evaluation_7.log").symlink_to(target)
    write_evaluations(folder, [{"complete": "yes"}, {"complete": "no"}])
    assert json.loads((folder / "evaluation_9.log").read_text()) == {"complete": "no"}
    assert target.read_text() == "mine"


def test_evaluations_at_the_same_time_share_no_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write_evaluations(tmp_path, [{"number": number}]), range(24)))
    assert sorted(json.loads(path.read_text())["number"] for path in tmp_path.iterdir()) == list(range(24))


def test_torn_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    log = tmp_path / "evaluation.log"
    log.write_text('{"complete": "yes"}\n{"compl')
    append_evaluations(log, [{"complete": "no"}])
    found = read_evaluations(log)
    assert ([entry["complete"] for entry in found.entries], found.broken) == (["yes", "no"], 1)


def test_a_log_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("mine")
    (tmp_path / "evaluation.log").symlink_to(target)
    with pytest.raises(OSError, match=r"evaluation\.log"):
        append_evaluations(tmp_path / "evaluation.log", [{"complete": "yes"}])
    with pytest.raises(OSError, match=r"evaluation\.log"):
        write_evaluations(tmp_path, [{"complete": "yes"}])
    assert target.read_text() == "mine"


def test_an_evaluation_after_one_on_several_lines_reads_back_as_the_second(tmp_path: Path) -> None:
    log = tmp_path / "evaluation.log"
    log.write_text(json.dumps({"complete": "no", "sub_scores": [{"name": "a"}]}, indent=4))
    append_evaluations(log, [{"complete": "yes"}])
    append_evaluations(log, [{"complete": "unsure"}])
    found = read_evaluations(log)
    assert ([entry["complete"] for entry in found.entries], found.broken) == (["no", "yes", "unsure"], 0)


def test_a_torn_evaluation_on_several_lines_costs_only_itself(tmp_path: Path) -> None:
    log = tmp_path / "evaluation.log"
    log.write_text('{\n    "complete": "no",\n{"complete": "yes"}\n{\n')
    found = read_evaluations(log)
    assert ([entry["complete"] for entry in found.entries], found.broken) == (["yes"], 3)
