"""`viva trace ufo:FOLDER`: a log folder becomes runs in a journal, judged by steps and screenshots."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY
from tests.evaluation_logs import as_ufo_reads, read_evaluations
from tests.judge.session.asked import captions, folder_of, pictures, said, sub
from tests.model_server import ModelServer
from tests.ufo_folders import REQUEST, app_line, make_folder, picture, shared_folder
from tests.viva.conftest import Desk
from viva.journal.kept_files import read_sound
from viva.journal.reader import read_records, read_runs

YES = said("yes", sub("the message is sent", step="final", quote=""), reason="The final screenshot shows it.")


class Judged:
    """A desk at which `viva trace` is called with a model of a local server."""

    def __init__(self, desk: Desk, server: ModelServer, certificate: Path) -> None:
        self.desk, self.server, self.folder = desk, server, desk.folder
        self._environment = {
            "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "SSL_CERT_FILE": str(certificate),
            "VIVA_MODEL_ATTEMPTS": "1",
        }  # fmt: skip

    def __call__(self, *arguments: str | Path, expect: int | None = 0, **environment: str) -> Any:
        return self.desk.viva(*arguments, expect=expect, environment=self._environment | environment)

    def trace(self, *arguments: str | Path, expect: int | None = 0, **environment: str) -> Any:
        more = ("--model", "openai:m", "--out", "j")
        return self("trace", *arguments, *more, expect=expect, **environment)


@pytest.fixture
def judged(desk: Desk, one_certificate: Path) -> Iterator[Judged]:
    with ModelServer({"m": YES, "no": said("no", sub("sent", "no"))}) as server:
        yield Judged(desk, server, one_certificate)


def test_a_log_folder_is_imported_judged_and_reported(judged: Judged) -> None:
    folder = folder_of(judged.folder, 3)
    done = judged.trace(f"ufo:{folder.name}", "--price", "2/10")
    assert "session: yes, 1.00" in done.stdout
    assert "the message is sent" in done.stdout
    assert "round 1: its screenshot" in done.stdout
    assert "target: tokens unknown, 4 calls, $0.0700" in done.stdout
    (record,) = read_records(judged.folder / "j")
    (insight,) = record.insights
    assert (record.subject, record.agent, record.score, insight.evaluator) == ("session", "UFO", 1.0, "session")
    assert insight.usage.cost is not None
    assert insight.usage.cost > 0
    (run,) = read_runs(judged.folder / "j")
    step = run.transcript.rounds[0].steps[0]
    assert [read_sound(judged.folder / "j", name) for name in step.images] == [
        (folder / f"action_step1{role}.png").read_bytes()
        for role in ("", "_annotated", "_selected_controls", "_concat")
    ]
    assert not (judged.folder / "j" / "workspaces").exists(), "nothing but the pictures is kept of the folder"
    (request,) = (seen.body for seen in judged.server.requests)
    assert len(pictures(request)) == 4


def test_the_shared_log_is_judged_and_its_broken_line_is_noted(judged: Judged) -> None:
    shutil.copytree(shared_folder(), judged.folder / "logs" / "teams")
    done = judged.trace("ufo:logs/teams")
    assert "note: line 4 is broken in response.log and skipped" in done.stderr
    (seen,) = judged.server.requests
    assert captions(seen.body) == [
        "[1 of 3] screenshot of step 1 (selected controls):",
        "[2 of 3] screenshot of step 2 (selected controls):",
        "[3 of 3] screenshot at the end, after the last step:",
    ]


def test_ufo_reads_its_log_after_a_second_trace_and_each_evaluation_is_a_file(judged: Judged) -> None:
    folder = folder_of(judged.folder)
    judged.trace(f"ufo:{folder.name}")
    judged("trace", f"ufo:{folder.name}", "--model", "openai:no", "--out", "again")
    judged("trace", f"ufo:{folder.name}", "--model", "openai:m", "--out", "both", "--level", "both")
    assert as_ufo_reads(folder)["complete"] == "yes"
    names = ["evaluation.log", *(f"evaluation_{number}.log" for number in (2, 3, 4))]
    assert sorted(path.name for path in folder.glob("evaluation*")) == names
    found = [json.loads((folder / name).read_text()) for name in names]
    assert [(each["complete"], each["level"], each.get("round")) for each in found] == [
        ("yes", "session", None), ("no", "session", None), ("yes", "session", None), ("yes", "round", 1),
    ]  # fmt: skip
    assert [each["cost"] for each in found] == [None] * 4


def test_an_evaluation_of_ufos_stays_as_it_is(judged: Judged) -> None:
    folder = folder_of(judged.folder)
    own = json.dumps({"complete": "unsure", "level": "session"}, indent=4)
    (folder / "evaluation.log").write_text(own)
    judged.trace(f"ufo:{folder.name}")
    assert (folder / "evaluation.log").read_text() == own
    assert json.loads((folder / "evaluation_2.log").read_text())["complete"] == "yes"


def test_the_log_goes_to_a_file_where_one_is_named(judged: Judged) -> None:
    folder = folder_of(judged.folder)
    judged.trace(f"ufo:{folder.name}", "--sink", "evaluation_log:out/evaluations.log")
    assert not (folder / "evaluation.log").exists()
    assert len(read_evaluations(judged.folder / "out" / "evaluations.log").entries) == 1


def test_a_sink_without_a_file_is_a_usage_error_elsewhere(judged: Judged) -> None:
    folder_of(judged.folder)
    judged.trace("ufo:session")
    done = judged("judge", "j", "--model", "openai:m", "--sink", "evaluation_log", expect=2)
    assert "requires a file: --sink evaluation_log:FILE" in done.stderr


def test_a_log_that_leads_elsewhere_is_not_written_and_the_run_stands(judged: Judged) -> None:
    folder = folder_of(judged.folder)
    precious = judged.folder / "precious"
    precious.write_text("mine")
    (folder / "evaluation.log").symlink_to(precious)
    done = judged.trace(f"ufo:{folder.name}")
    assert "sink evaluation_log" in done.stderr
    assert precious.read_text() == "mine"
    assert len(list(read_records(judged.folder / "j"))) == 1


def test_a_tree_of_folders_is_a_run_each_and_a_broken_one_is_excluded(judged: Judged) -> None:
    for name in ("a", "b"):
        make_folder(judged.folder / "logs" / name, [app_line(1)], pictures=(1,))
        make_folder(judged.folder / "more" / name, [app_line(1), "{broken"], pictures=(1,))
    make_folder(judged.folder / "logs" / "c", ["{broken"])
    done = judged.trace("ufo:logs", "--json", expect=None)
    records = {record.subject: record for record in read_records(judged.folder / "j")}
    again = judged("trace", "ufo:more", "--model", "openai:m", "--out", "more_runs")
    assert "broken lines of response.log were skipped (2 times)" in " ".join(again.stderr.split())
    assert {name: record.outcome.value for name, record in records.items()} == {
        "a": "scored", "b": "scored", "c": "judge_error",
    }  # fmt: skip
    assert "holds no step of a session" in (records["c"].error or "")
    assert json.loads(done.stdout)["figures"]
    assert [len(read_evaluations(judged.folder / "logs" / name / "evaluation.log").entries) for name in "ab"] == [1, 1]
    assert not (judged.folder / "logs" / "c" / "evaluation.log").exists()


@pytest.mark.parametrize(
    ("arguments", "environment", "subjects"),
    [
        ((), {}, ["run"]),
        (("--level", "both"), {}, ["run", "r1", "r2"]),
        (("--level", "round"), {}, ["run", "r1", "r2"]),
        ((), {"EVA_ROUND": "true"}, ["run", "r1", "r2"]),
        (("--level", "session"), {"EVA_ROUND": "true"}, ["run"]),
    ],
)
def test_levels_come_from_the_command_line_or_the_environment(
    arguments: tuple[str, ...], environment: dict[str, str], subjects: list[str], judged: Judged
) -> None:
    folder = folder_of(judged.folder, 4, rounds=2)
    for number in (0, 1):
        (folder / f"action_round_{number}_final.png").write_bytes(picture(f"round {number}"))
    judged.trace("ufo:session", *arguments, **environment)
    (record,) = read_records(judged.folder / "j")
    assert ["run" if each.subject == record.id else each.subject for each in record.insights] == subjects
    assert record.score == 1.0


def test_screenshots_and_apis_reach_the_model(judged: Judged) -> None:
    folder_of(judged.folder)
    (judged.folder / "api.txt").write_text("click_input: clicks a control")
    judged.trace("ufo:session", "--screenshots", "ends", "--apis", "api.txt")
    (seen,) = judged.server.requests
    assert len(pictures(seen.body)) == 2
    assert "click_input: clicks a control" in json.dumps(seen.body)


def test_a_backup_model_is_asked_where_the_first_gives_no_answer(desk: Desk, one_certificate: Path) -> None:
    with ModelServer({"m": "I'm sorry.", "spare": YES}) as server:
        judged = Judged(desk, server, one_certificate)
        folder_of(desk.folder)
        judged.trace("ufo:session", "--backup-model", "openai:spare", "--price", "1/1,spare=10/10")
    (record,) = read_records(desk.folder / "j")
    attempts = record.insights[0].details["attempts"]
    assert [(each["model"], each["screenshots"]) for each in attempts] == [
        ("m", "all"),
        ("m", "ends"),
        ("spare", "ends"),
    ]
    assert attempts[2]["cost"] == pytest.approx((attempts[2]["input_tokens"] + attempts[2]["output_tokens"]) * 10 / 1e6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ufo:session",), "the evaluator 'session' requires a model: add --model openai:NAME"),
        (("ufo:nowhere",), "nowhere does not exist; ufo:FOLDER names the folder of a session"),
        (("ufo:session", "--mapping", "nowhere.yaml"), "nowhere.yaml"),
        (("chat:chat.json", "--mapping", "chat.json"), "the reader chat does not support a mapping file (--mapping)"),
        (("ufo:session", "chat:chat.json"), "judged by different evaluators; name them: --evaluators"),
        (("ufo:session", "--model", "openai:m", "--price", "cheap"), "--price takes dollars per million tokens"),
        (("ufo:session", "--model", "openai:m", "--apis", "none.txt"), "the file of APIs none.txt cannot be read"),
        (
            ("ufo:session", "--model", "openai:m", "--session-config", "no.yaml"),
            "the configuration file no.yaml cannot",
        ),
    ],
)
def test_a_mistake_is_a_usage_error_and_leaves_no_journal(
    arguments: tuple[str, ...], words: str, judged: Judged
) -> None:
    folder_of(judged.folder)
    (judged.folder / "chat.json").write_text('[{"role": "user", "content": "Hello"}]')
    done = judged("trace", *arguments, "--out", "j", expect=2)
    assert words in " ".join(done.stderr.split())
    assert not (judged.folder / "j").exists()


def test_another_agents_folder_is_read_by_its_mapping_file_also_after_a_stop(judged: Judged) -> None:
    for name in ("one", "two"):
        folder = judged.folder / "runs" / name
        folder.mkdir(parents=True)
        (folder / "steps.jsonl").write_text(json.dumps({"goal": "Buy tea", "did": "click", "shot": "1.png"}) + "\n")
        (folder / "1.png").write_bytes(picture(name))
    (judged.folder / "map.yaml").write_text(
        "log: steps.jsonl\nagent: Shopper\nfields: {request: goal, function: did}\npictures: {clean: shot}\n"
    )
    judged.trace("ufo:runs", "--mapping", "map.yaml", "--limit", "2")
    judged("trace", "--resume", "j")
    records = list(read_records(judged.folder / "j"))
    assert sorted((record.subject, record.agent) for record in records) == [("one", "Shopper"), ("two", "Shopper")]


def test_a_stored_session_is_judged_again_by_another_model(judged: Judged) -> None:
    folder = folder_of(judged.folder)
    judged.trace(f"ufo:{folder.name}")
    shutil.rmtree(folder)
    judged("judge", "j", "--judge-model", "openai:no", "--out", "again")
    (record,) = read_records(judged.folder / "again")
    assert (record.score, record.insights[0].label) == (0.0, "no")
    assert len(pictures(judged.server.requests[-1].body)) == 4, "the pictures come from the journal"


def test_the_gate_counts_the_low_bound(judged: Judged, desk: Desk, one_certificate: Path) -> None:
    doubtful = said("yes", sub("sent", step="final", quote=""), sub("seen", "unsure"))
    with ModelServer({"m": doubtful}) as server:
        folder_of(judged.folder)
        done = Judged(desk, server, one_certificate).trace("ufo:session", "--fail-under", "1", expect=1)
    assert "0.00" in done.stderr


def test_the_request_is_what_the_log_says(judged: Judged) -> None:
    make_folder(judged.folder / "t", [app_line(1)], pictures=(1,))
    judged.trace("ufo:t")
    assert read_evaluations(judged.folder / "t" / "evaluation.log").entries[0]["request"] == REQUEST
