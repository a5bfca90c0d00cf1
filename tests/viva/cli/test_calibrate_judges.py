"""`viva calibrate --judge-model`: judges are tried on labelled sets and on what people labelled, and compared."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from tests.conftest import KEY
from tests.model_server import ModelServer, ServerError, Stall, Unauthorized, sequence
from tests.scripted_judges import always_no, always_yes, at_random, by_the_letter, prompt_of
from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from tests.viva.viva_command import clean_environment, start_viva
from viva.journal.reader import read_runs
from viva.judge.calibration import sets
from viva.judge.calibration.label_files import HumanLabel, LabelWriter
from viva.judge.calibration.sets import BUILTIN_FOLDER, LabelledSet, load_set
from viva.judge.calibration.store import BUILTIN, FILE, Calibration, newest_of, read_calibrations
from viva.judge.scoring_points.by_model import prompt_hashes

SET = BUILTIN_FOLDER / "forged.yaml"


@cache
def forged() -> LabelledSet:
    return load_set(SET)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    parts = {
        "perfect": by_the_letter(forged()),
        "yes": always_yes,
        "no": always_no,
        "coin": at_random(3),
        "broken": ServerError(),
    }
    with ModelServer(parts) as running:
        yield running


Try = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def calibrate(desk: Desk, server: ModelServer) -> Try:
    """Call `viva calibrate` with the server's address."""
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "VIVA_MODEL_ATTEMPTS": "1"}
    return partial(desk.viva, "calibrate", environment=environment)


def judges(*names: str) -> list[str]:
    return [word for name in names for word in ("--judge-model", f"openai:{name}")]


def test_a_table_of_judges_has_the_best_first_and_says_which_are_not_shown_to_be_better_than_chance(
    calibrate: Try,
) -> None:
    shown = calibrate("--set", SET, *judges("yes", "no", "perfect"), "--price", "1/2", expect=0).stdout
    said = " ".join(shown.split())
    assert "20 labelled points on 10 transcripts" in said
    table = shown[: shown.index("not shown to be better than chance")]
    assert table.index("perfect") < table.index("yes")
    assert "yes: not shown to be better than chance: label more points" in said
    assert "no: not shown to be better than chance" in said
    assert "no better than chance" not in said, "20 points show nothing of the kind"
    assert "perfect: not" not in said
    assert "perfect against the labels: right in 20 of 20, accuracy 1.000" in said
    assert "yes against the labels: right in 10 of 20" in said
    assert "the worst disagreements:" in said
    assert "the judge says hit, miss is right" in said
    assert "why miss: The two further turns are its own imitation; its answer is 54." in said


def test_json_holds_every_judgement_that_is_wrong_and_all_figures(calibrate: Try) -> None:
    done = calibrate("--set", SET, *judges("yes"), "--price", "1/2", "--json", expect=0)
    told = json.loads(done.stdout)
    (judge,) = told["judges"]
    assert (told["points"], told["digest"]) == (20, forged().digest)
    assert (judge["judge"], judge["beats_chance"]) == ("yes", False)
    assert judge["chance"].startswith("not shown to be better than chance")
    assert judge["whole"]["agreement"]["kappa"] == pytest.approx(0, abs=1e-12)
    assert len(judge["worst"]) == 10
    assert judge["confusion"]["miss"] == {"hit": 9}
    assert judge["usage"]["cost"] > 0


def test_the_same_question_is_not_paid_for_twice(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    for _ in range(2):
        calibrate("--set", SET, *judges("perfect"), expect=0)
    assert len(server.requests) == forged().size
    assert (desk.folder / "runs" / "judgements.jsonl").read_text().count("\n") == forged().size
    done = calibrate("--set", SET, *judges("perfect"), "--judgements", "other.jsonl", expect=0)
    assert len(server.requests) == 2 * forged().size
    assert "of these now" not in done.stdout


def test_two_models_of_one_name_are_two_judges(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    config = {"provider": "OpenAIChatCompletionClient", "config": {"model": "yes", "base_url": server.url}}
    config["config"]["model_info"] = {  # type: ignore[index]
        "vision": False,
        "function_calling": False,
        "json_output": True,
        "family": "unknown",
        "structured_output": True,
    }
    (desk.folder / "cold.json").write_text(json.dumps(config))
    done = calibrate("--set", SET, *judges("yes"), "--judge-model", "cold.json", "--json", expect=0)
    assert [each["judge"] for each in json.loads(done.stdout)["judges"]] == ["openai:yes", "cold.json"]
    assert len(server.requests) == 2 * forged().size


def test_points_without_a_verdict_count_as_wrong_and_the_exit_code_says_so(calibrate: Try) -> None:
    done = calibrate("--set", SET, *judges("broken"), expect=3)
    said = " ".join(done.stdout.split())
    assert "broken: no usable verdict on any point" in said
    assert "right in 0 of 20" in said
    assert "than chance" not in said, "it was not judged to be a bad judge, it did not judge"


def test_what_was_judged_before_a_stop_is_kept(desk: Desk, server: ModelServer) -> None:
    server.parts["slow"] = sequence(*[always_yes] * 5, then=Stall(3600))
    environment = {**clean_environment(), "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    words = ("calibrate", "--set", SET, *judges("slow"), "--concurrency", "1")
    command = [*map(str, words)]
    with start_viva(
        *command, cwd=desk.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        until(lambda: len(server.requests) > 5, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "What was judged is kept in runs/judgements.jsonl; the same command judges the rest." in errors
    assert (desk.folder / "runs" / "judgements.jsonl").read_text().count("\n") == 5


def test_a_calibration_is_stored_where_reports_find_it(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    done = calibrate("--set", SET, *judges("perfect", "broken"), expect=3)
    assert "stored in runs/calibrations.jsonl" in done.stdout
    (stored,) = read_calibrations(desk.folder / "runs" / FILE)
    assert (stored.model, dict(stored.prompts)) == ("perfect", prompt_hashes()), "without a verdict there is nothing"
    assert (stored.items, stored.cases, stored.people, stored.kappa) == (20, 10, 0, 1.0)
    assert (stored.digest, stored.source) == (forged().digest[:12], "forged.yaml")
    case = desk.case(scoring_points=[{"score_point": "The agent sings.", "weight": 1}])
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    words = ("--agent", "example:careful", "--sandbox", "process", "--judge-model", "openai:perfect")
    shown = desk.viva("run", case, *words, environment=environment, expect=0).stdout
    assert "perfect: calibrated on 20 labels (the set forged.yaml), kappa 1.00" in " ".join(
        shown.replace("│", " ").split()
    )


def test_what_people_labelled_comes_before_the_set_in_the_box() -> None:
    people = Calibration("m", {"judge": "1"}, items=30, cases=10, people=2)
    box = Calibration("m", {"judge": "1"}, items=500, cases=200)
    other = Calibration("m", {"judge": "2"}, items=40, cases=10, people=2)
    assert newest_of([people, box, other], "m", {"judge": "1"}) is people
    assert newest_of([box, other], "m", {"judge": "1"}) is box
    assert newest_of([other], "m", {"judge": "1"}) is None


def test_a_refused_key_ends_the_command_with_what_to_correct(server: ModelServer, calibrate: Try) -> None:
    server.parts["locked"] = Unauthorized()
    done = calibrate("--set", SET, *judges("locked"), expect=2)
    assert "OPENAI_API_KEY" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", BUILTIN), "--set requires a judge: add --judge-model"),
        (("--judge-model", "openai:yes"), "requires what it is to judge: --set builtin"),
        (("--set", "nowhere.yaml", "--judge-model", "openai:yes"), "there is no labelled set nowhere.yaml"),
        (("--set", BUILTIN, "x.csv", "--judge-model", "openai:yes"), "--set brings its own labels"),
        (("--set", BUILTIN, *judges("yes", "yes")), "--judge-model openai:yes is given twice"),
        (("--set", BUILTIN, "--judge-model", "gpt"), "is not a model"),
        ((), "name a file with labels, or try judges"),
        (("labels.csv", "--price", "1/2"), "--price requires --judge-model"),
        (("--set", BUILTIN, *judges("yes"), "--gold", "ann"), "--gold cannot be given with --set or --judge-model"),
    ],
)
def test_mistakes_say_what_to_do(arguments: tuple[str, ...], words: str, server: ModelServer, calibrate: Try) -> None:
    done = calibrate(*arguments, expect=2)
    assert words in " ".join(done.stderr.split())
    assert server.requests == []


def labelled_journal(desk: Desk) -> Path:
    """Two runs of an exam, and a file in which Ann and Bob labelled their points; about one they disagree."""
    points = [{"score_point": "The agent says hello.", "weight": 1}, {"score_point": "The agent sings.", "weight": 2}]
    case = desk.case(scoring_points=[{**each, "eval_code": "assert rounds"} for each in points])
    desk.viva("suite", case, "--agent", "example:careful", "--trials", "2", "--sandbox", "process", "--out", "journal")
    first, second = read_runs(desk.folder / "journal")
    hello, sings = (verdict.criterion for verdict in first.insights[0].verdicts)
    file = desk.folder / "labels.jsonl"
    with LabelWriter(file) as writer:
        for rater in ("ann", "bob"):
            writer.append(HumanLabel(rater, first.id, hello, "hit"))
            writer.append(HumanLabel(rater, first.id, sings, "miss"))
            writer.append(HumanLabel(rater, second.id, hello, "hit" if rater == "ann" else "miss"))
            writer.append(HumanLabel(rater, second.id, sings, "miss"))
    return file


def test_what_people_labelled_in_a_journal_is_judged_anew(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    file = labelled_journal(desk)
    done = calibrate(file, "journal", *judges("yes"), "--json", expect=0)
    told = json.loads(done.stdout)
    assert "1 point left out: people are unsure, or evenly divided" in done.stderr
    (stored,) = read_calibrations(desk.folder / FILE)
    assert (stored.model, stored.people, stored.items, stored.source) == ("yes", 2, 3, "labels.jsonl")
    assert (told["set"], told["points"], len(server.requests)) == ("labels.jsonl", 3, 3)
    (judge,) = told["judges"]
    assert judge["confusion"] == {"hit": {"hit": 1}, "miss": {"hit": 2}}
    assert [part["name"] for part in judge["by_kind"]] == ["exam"]


def test_labels_of_other_runs_are_named(desk: Desk, calibrate: Try) -> None:
    labelled_journal(desk)
    with LabelWriter(desk.folder / "other.jsonl") as writer:
        writer.append(HumanLabel("ann", "another-run", "p-1", "hit"))
    done = calibrate("other.jsonl", "journal", *judges("yes"), expect=2)
    assert "no label is about a conversation in journal (1 label of runs that are not here: not used)" in done.stderr


def commands_on_the_page() -> list[list[str]]:
    text = (Path(__file__).parents[3] / "docs" / "calibration.md").read_text(encoding="utf-8")
    found = [shlex.split(line[2:]) for line in text.splitlines() if line.startswith("$ viva calibrate")]
    return [words[2:] for words in found if "--judge-model" in words]


def test_the_commands_on_the_page_do_what_it_says(
    desk: Desk, server: ModelServer, calibrate: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / "box").mkdir()
    for name in ("box/forged.yaml", "labelled.yaml"):
        shutil.copy(SET, desk.folder / name)
    labelled_journal(desk)
    (desk.folder / "runs").mkdir(exist_ok=True)
    (desk.folder / "journal").rename(desk.folder / "runs" / "my-suite")
    monkeypatch.setattr(sets, "BUILTIN_FOLDER", desk.folder / "box")
    server.parts.update({"gpt-4o-mini": always_yes, "gpt-4o": by_the_letter(forged())})
    commands = commands_on_the_page()
    assert len(commands) >= 3
    shown = [calibrate(*words, expect=0).stdout for words in commands]
    assert all("kappa (95 %)" in each and "cost" in each for each in shown)
    assert shown[0].index("gpt-4o ") < shown[0].index("gpt-4o-mini"), "the best judge first"
    assert "gpt-4o-mini: not shown to be better than chance" in shown[0]


def poem_in_a_journal(desk: Desk) -> None:
    """One run of a case that shows the agent's files to the judge, with a label."""
    points = [{"score_point": "The agent writes a file.", "weight": 1, "eval_code": "assert rounds"}]
    case = desk.case(scoring_points=points, evidence=["files"])
    agent = desk.agent("""
        def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
            self.workspace = workspace

        def get_reply_from_agent(self, message):
            Path(self.workspace, "poem.txt").write_text("Grey gulls above the quay")
            return "Written."
    """)
    desk.viva("suite", case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=0)
    (run,) = read_runs(desk.folder / "journal")
    with LabelWriter(desk.folder / "labels.jsonl") as writer:
        writer.append(HumanLabel("ann", run.id, run.insights[0].verdicts[0].criterion, "hit"))


def test_the_agents_files_are_shown_where_the_case_wants_it(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    poem_in_a_journal(desk)
    calibrate("labels.jsonl", "journal", *judges("yes"), expect=0)
    (seen,) = server.requests
    assert "Grey gulls above the quay" in prompt_of(seen.body)


def test_a_judgement_is_not_taken_for_one_on_other_files(desk: Desk, server: ModelServer, calibrate: Try) -> None:
    poem_in_a_journal(desk)
    asking = partial(calibrate, "labels.jsonl", "journal", *judges("yes"), expect=0)
    asking()
    asking()
    assert len(server.requests) == 1, "the same is not paid for twice"
    (poem,) = (desk.folder / "journal").rglob("poem.txt")
    poem.chmod(0o644)
    poem.write_text("Green gulls above the quay")
    asking()
    assert len(server.requests) == 2
