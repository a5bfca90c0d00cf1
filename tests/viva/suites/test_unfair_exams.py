"""What follows from an unfair exam: it is held again, kept for reading, counted as the examiner's fault, and gated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.journals import edit
from tests.model_server import STOP_KEYWORD, ModelServer, Play, Request, system_text
from tests.recordings import TAU, shared_file
from tests.viva.suites.played_exams import FAIR, FLIPPED, examiner
from viva.cli.group import viva
from viva.exam.attempt.exam_run import ExamRun
from viva.exam.examine import examine
from viva.journal.reader import read_records
from viva.records.run_record import Outcome, RunRecord
from viva.statistics.summary import summarize
from viva.suites import worker

SMALL_MODEL = (
    "You are ready to work. Here is the answer.",
    "Thank you so much! You are a wonderful partner.",
    "You're welcome! I am glad that I could be of help.",
    "It was a pleasure. I am proud of our work.",
)
"""What a small model wrote as examiner of the weather: it never asked, and both flattered each other."""


@dataclass
class Held:
    """What the user saw, and what the journal holds."""

    code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def records(self) -> list[RunRecord]:
        return list(read_records(self.folder))

    @property
    def record(self) -> RunRecord:
        (record,) = self.records
        return record


Hold = Callable[..., Held]


@pytest.fixture
def hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hold:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.01")
    monkeypatch.setenv("COLUMNS", "200")

    def run(play: Play, *arguments: str, agent: str = "example:careful", resume: bool = False) -> Held:
        folder = tmp_path / "journal"
        with ModelServer({"m": play}) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            new = [
                "suite",
                "weather_asks_back",
                "--agent",
                agent,
                "--examiner",
                "model",
                "--examiner-model",
                "openai:m",
            ]
            new += ["--sandbox", "process", "--concurrency", "1", "--out", str(folder)]
            command = ["suite", "--resume", str(folder)] if resume else new
            result = CliRunner().invoke(viva, [*command, *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return Held(result.exit_code, result.stdout, result.stderr, folder)

    return run


def test_an_unfair_exam_is_held_again_and_the_fair_one_counts(hold: Hold) -> None:
    held = hold(examiner(FLIPPED, FAIR), "--fail-under", "0.5")
    assert held.code == 0, held.stdout + held.stderr
    assert held.record.outcome is Outcome.SCORED
    assert held.record.attempt == 2
    assert held.record.score == pytest.approx(2 / 3)
    figures = summarize(held.records)
    assert figures.examiner is not None
    assert (figures.examiner.unfair, figures.examiner.exams) == (1, 2)
    assert figures.examiner.kinds == {"role_flip": 1}
    assert figures.suite.mean == figures.examiner.fair
    assert "examiner at fault in 1 of 2 exams: 50%" in held.stdout
    assert "unfair by kind: role_flip 1" in held.stdout
    assert "score without unfair exams 0.67, with them" in held.stdout


def test_an_exam_that_stays_unfair_is_excluded_and_its_verdicts_are_kept(hold: Hold) -> None:
    held = hold(examiner(FLIPPED), "--attempts", "2")
    assert held.code == 3
    assert held.record.outcome is Outcome.EXAMINER_ERROR
    assert held.record.attempt == 2
    assert "it speaks as the assistant" in (held.record.error or "")
    points, exam = held.record.insights
    assert (points.evaluator, len(points.verdicts)) == ("scoring_points", 2)
    assert (exam.evaluator, exam.label) == ("exam", "unfair")
    (flip,) = exam.verdicts
    assert (flip.criterion, flip.subject, flip.evidence[0].quote) == ("role_flip", "r1", "How can I help you?")
    examiner_figures = summarize(held.records).examiner
    assert examiner_figures is not None
    assert (examiner_figures.unfair, examiner_figures.exams, examiner_figures.fair) == (2, 2, None)
    assert examiner_figures.raw is not None, "what the agent would have scored stays readable"


@pytest.mark.parametrize("messages", [SMALL_MODEL, SMALL_MODEL[:1], SMALL_MODEL[1:], ("Hello! How are you today?",)])
def test_an_exam_that_was_never_asked_is_never_scored(hold: Hold, messages: tuple[str, ...]) -> None:
    held = hold(examiner(messages), "--max-rounds", "4")
    assert held.record.outcome is Outcome.EXAMINER_ERROR
    assert held.record.attempt == 3
    assert held.code == 3
    assert "never_asked" in held.stdout


def test_an_examiner_that_breaks_off_after_an_unfair_exam_loses_no_attempt(hold: Hold) -> None:
    held = hold(examiner(FLIPPED, ("",)), "--attempts", "2")
    assert held.record.outcome is Outcome.EXAMINER_ERROR
    figures = summarize(held.records).examiner
    assert figures is not None
    assert (figures.unfair, figures.exams) == (2, 2)
    assert figures.kinds == {"broke_off": 1, "role_flip": 1}


def test_resuming_with_retry_errors_holds_an_unfair_exam_again(hold: Hold) -> None:
    assert hold(examiner(FLIPPED), "--attempts", "1").code == 3
    held = hold(examiner(FAIR), "--retry-errors", resume=True)
    assert held.record.outcome is Outcome.SCORED
    assert held.record.attempt == 2


@pytest.mark.parametrize("attempts", ["1", "2"])
@pytest.mark.parametrize("second", [FAIR, FLIPPED])
def test_resuming_forgets_no_unfair_exam(hold: Hold, attempts: str, second: tuple[str, ...]) -> None:
    hold(examiner(FLIPPED), "--attempts", attempts)
    held = hold(examiner(second), "--retry-errors", resume=True)
    figures = summarize(held.records).examiner
    assert figures is not None
    before = int(attempts)
    again = 1 if second is FAIR else before
    assert figures.exams == before + again
    assert figures.unfair == (before if second is FAIR else before + again)


@pytest.mark.parametrize(("rate", "code"), [("0.4", 1), ("0.5", 0), ("1", 0)])
def test_the_gate_on_the_examiners_faults(hold: Hold, rate: str, code: int) -> None:
    held = hold(examiner(FLIPPED, FAIR), "--max-examiner-faults", rate)
    assert held.code == code, held.stderr
    report = CliRunner().invoke(viva, ["report", str(held.folder), "--max-examiner-faults", rate])
    assert report.exit_code == code
    assert ("a rate of 0.5000, above 0.4" in report.stderr) is bool(code)


def test_a_gate_without_a_judged_examiner_does_not_pass(tmp_path: Path) -> None:
    scripted = ["suite", "echo", "--agent", "example:careful", "--sandbox", "process", "--out", str(tmp_path / "j")]
    result = CliRunner().invoke(viva, [*scripted, "--max-examiner-faults", "1"])
    assert result.exit_code == 3
    assert "the examiner was judged in no exam" in result.stderr


def test_the_figures_are_in_every_report(hold: Hold) -> None:
    held = hold(examiner(FLIPPED, FAIR), "--json")
    assert json.loads(held.stdout)["figures"]["examiner"]["rate"] == 0.5
    for kind, words in (
        ("markdown", "examiner at fault in 1 of 2 exams"),
        ("html", "examiner at fault in 1 of 2 exams"),
    ):
        file = held.folder / f"report.{kind}"
        CliRunner().invoke(
            viva, ["report", str(held.folder), "--format", kind, "--out", str(file)], catch_exceptions=False
        )
        assert words in file.read_text(), kind
    document = CliRunner().invoke(viva, ["report", str(held.folder), "--format", "json"]).stdout
    figures = json.loads(document)["figures"]
    assert figures["examiner"]["kinds"] == {"role_flip": 1}
    assert [each["agent"] for each in figures["examiner_agents"]] == ["example:careful"]
    assert [each["name"] for each in figures["evaluators"]] == ["scoring_points"]


def test_a_scripted_exam_has_nothing_of_it(tmp_path: Path) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from viva.cli.group import viva\n"
        "arguments = ['suite', 'echo', '--agent', 'example:careful', '--sandbox', 'process', '--out', sys.argv[1]]\n"
        "result = CliRunner().invoke(viva, arguments)\n"
        "assert result.exit_code == 0, result.output\n"
        "loaded = [name for name in sys.modules if name.startswith('viva.judge.exam.')]\n"
        "assert loaded == ['viva.judge.exam.kinds'], loaded\n"
        "assert 'examiner at fault' not in result.output\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "j")], check=True, timeout=120)
    (record,) = read_records(tmp_path / "j")
    assert [insight.evaluator for insight in record.insights] == ["scoring_points"]
    assert record.setting.evaluators == ("scoring_points",)
    document = json.loads(CliRunner().invoke(viva, ["report", str(tmp_path / "j"), "--format", "json"]).stdout)
    assert "examiner" not in document["figures"]


def test_stored_exams_of_any_origin_can_be_reviewed(tmp_path: Path) -> None:
    scripted = ["suite", "weather_asks_back", "--agent", "example:careful", "--sandbox", "process"]
    assert CliRunner().invoke(viva, [*scripted, "--out", str(tmp_path / "j")]).exit_code == 0
    judged = ["judge", str(tmp_path / "j"), "--evaluators", "exam", "--out", str(tmp_path / "exam"), "--json"]
    result = CliRunner().invoke(viva, judged)
    assert result.exit_code == 0, result.output
    (run,) = json.loads(result.stdout)["runs"]
    assert (run["outcome"], run["score"], run["insights"][0]["label"]) == ("scored", 1.0, "fair")


def test_recordings_with_a_task_description_can_be_reviewed(tmp_path: Path) -> None:
    lines = shared_file(TAU).read_text().splitlines()[:3]
    plain = json.dumps({"traj": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]})
    (tmp_path / "some.jsonl").write_text("\n".join([*lines, plain]) + "\n")
    told: dict[str, Any] = {}
    arguments = ["trace", f"chat:{tmp_path / 'some.jsonl'}", "--evaluators", "exam", "--out", str(tmp_path / "j")]
    CliRunner().invoke(viva, arguments)
    for record in read_records(tmp_path / "j"):
        told[record.subject] = record.insights[0].label
    assert sorted(told.values()) == ["fair", "fair", "fair", "skipped"]


def test_a_review_by_the_judge_requires_the_judges_model(hold: Hold) -> None:
    held = hold(examiner(FAIR), "--exam-review", "judge")
    assert held.code == 2
    assert "--exam-review judge requires the judge's model" in held.stderr


def test_a_review_without_a_model_examiner_is_said_to_have_no_effect(tmp_path: Path) -> None:
    scripted = ["suite", "echo", "--agent", "example:careful", "--sandbox", "process", "--out", str(tmp_path / "j")]
    result = CliRunner().invoke(viva, [*scripted, "--exam-review", "openai:m"])
    assert result.exit_code == 0
    assert "--exam-review has no effect" in result.stderr


def test_a_script_that_is_unfair_is_not_asked_again(tmp_path: Path) -> None:
    case = tmp_path / "case"
    case.mkdir()
    (case / "case.yaml").write_text(
        "task_description: Ask the agent to count the beans in the blue jar.\n"
        "script: [Hello there!]\n"
        "scoring_points: [{score_point: It counts., weight: 1, eval_code: assert rounds}]\n"
    )
    arguments = ["suite", str(case), "--agent", "example:careful", "--sandbox", "process", "--out", str(tmp_path / "j")]
    result = CliRunner().invoke(viva, [*arguments, "--evaluators", "scoring_points,exam"])
    assert result.exit_code == 3
    (record,) = read_records(tmp_path / "j")
    assert (record.outcome, record.attempt) == (Outcome.EXAMINER_ERROR, 1)


def examined(folder: Path) -> tuple[int, int, float | None, float | None]:
    """How many exams were unfair, of how many, and the scores with and without them."""
    figures = summarize(read_records(folder)).examiner
    assert figures is not None
    return figures.unfair, figures.exams, figures.raw, figures.fair


def judge(folder: Path, out: Path, *arguments: str, expect: int = 0) -> None:
    words = ["judge", str(folder), "--sandbox", "process", "--out", str(out), *arguments]
    result = CliRunner().invoke(viva, words)
    assert result.exit_code == expect, result.output


@pytest.mark.parametrize(("rate", "code"), [("0.4", 1), ("0.5", 0)])
def test_judging_again_forgets_no_unfair_exam_however_often(hold: Hold, tmp_path: Path, rate: str, code: int) -> None:
    held = hold(examiner(FLIPPED, FAIR))
    assert examined(held.folder)[:2] == (1, 2)
    judge(held.folder, tmp_path / "once", "--max-examiner-faults", rate, expect=code)
    judge(tmp_path / "once", tmp_path / "twice", "--max-examiner-faults", rate, expect=code)
    assert examined(held.folder) == examined(tmp_path / "once") == examined(tmp_path / "twice")


def test_exams_of_which_only_the_last_was_not_judged_yet_are_judged_with_those_before(
    hold: Hold, tmp_path: Path
) -> None:
    held = hold(examiner(FLIPPED, FAIR))
    before = examined(held.folder)
    judgement = (b'"event":"insight"', b'"event":"run"')
    edit(
        held.folder,
        lambda line: None if b'"attempt":2,' in line[:120] and any(kind in line[:40] for kind in judgement) else line,
    )
    judge(held.folder, tmp_path / "judged")
    assert examined(tmp_path / "judged") == before


def test_without_the_evaluator_of_exams_judging_again_says_nothing_about_them(hold: Hold, tmp_path: Path) -> None:
    held = hold(examiner(FLIPPED, FAIR))
    judge(held.folder, tmp_path / "judged", "--evaluators", "scoring_points")
    (record,) = read_records(tmp_path / "judged")
    assert [insight.evaluator for insight in record.insights] == ["scoring_points"]


@pytest.mark.parametrize("between", [("--evaluators", "scoring_points"), ("--evaluators", "loops")])
def test_judging_without_the_evaluator_of_exams_forgets_no_unfair_exam_for_the_next_one(
    hold: Hold, tmp_path: Path, between: tuple[str, ...]
) -> None:
    held = hold(examiner(FLIPPED, FAIR))
    judge(held.folder, tmp_path / "without", *between)
    judge(tmp_path / "without", tmp_path / "as before")
    assert summarize(read_records(tmp_path / "as before")).examiner is None
    asked = ("--evaluators", "scoring_points,exam", "--max-examiner-faults", "0.4")
    judge(tmp_path / "as before", tmp_path / "with", *asked, expect=1)
    assert examined(tmp_path / "with") == examined(held.folder)
    judge(tmp_path / "with", tmp_path / "again", expect=0)
    assert examined(tmp_path / "again") == examined(held.folder)


BREAKS = """
from pathlib import Path
from viva.records.verdict import Insight

class Breaks:
    name = "breaks"

    async def evaluate(self, transcript, context):
        if Path(__file__).with_name("broken").exists():
            raise RuntimeError("it broke")
        return Insight(self.name, context.subject, "fine", 1.0)
"""


def test_a_judging_without_the_evaluator_of_exams_keeps_them_also_where_it_fails(
    hold: Hold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = hold(examiner(FLIPPED, FAIR))
    with monkeypatch.context() as patch:

        async def fail(*arguments: Any) -> Any:
            raise RuntimeError("the disk is away")

        patch.setattr(worker, "judge_and_record", fail)
        judge(held.folder, tmp_path / "failed", "--evaluators", "scoring_points", expect=3)
    (record,) = read_records(tmp_path / "failed")
    assert (record.outcome, record.insights) == (Outcome.INFRA_ERROR, ())
    judge(tmp_path / "failed", tmp_path / "with", "--evaluators", "scoring_points,exam")
    assert examined(tmp_path / "with") == examined(held.folder)


def test_a_judgement_that_failed_forgets_no_unfair_exam_before_it(hold: Hold, tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(BREAKS)
    (tmp_path / "broken").touch()
    held = hold(examiner(FLIPPED, FAIR), "--evaluators", f"{tmp_path / 'part.py'}:Breaks,exam")
    assert (held.record.outcome, held.record.attempt) == (Outcome.JUDGE_ERROR, 2)
    (tmp_path / "broken").unlink()
    held = hold(examiner(FAIR), "--retry-errors", resume=True)
    assert (held.record.outcome, held.record.attempt) == (Outcome.SCORED, 2)
    assert examined(held.folder)[:2] == (1, 2)


@pytest.mark.parametrize("requeued", [False, True])
def test_a_failure_of_the_machine_forgets_no_unfair_exam_before_it(
    hold: Hold, monkeypatch: pytest.MonkeyPatch, requeued: bool
) -> None:
    with monkeypatch.context() as patch:

        async def fail_at_second(run: ExamRun, *arguments: Any) -> Any:
            if run.header.attempt == 2:
                raise RuntimeError("the disk is away")
            return await examine(run, *arguments)

        patch.setattr(worker, "examine", fail_at_second)
        held = hold(examiner(FLIPPED, FAIR), "--attempts", "2")
    assert (held.record.outcome, held.record.attempt) == (Outcome.INFRA_ERROR, 2)
    assert examined(held.folder)[:2] == (1, 1)
    if requeued:
        assert CliRunner().invoke(viva, ["requeue", str(held.folder)]).exit_code == 0
    held = hold(examiner(FAIR), *([] if requeued else ["--retry-errors"]), resume=True)
    assert (held.record.outcome, held.record.attempt) == (Outcome.SCORED, 3)
    assert examined(held.folder)[:2] == (1, 2)


def test_repeating_a_run_alone_forgets_no_unfair_exam_and_repeating_all_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    journal = tmp_path / "journal"
    common = ["--agent", "example:careful", "--sandbox", "process"]
    asks = ["--examiner", "model", "--examiner-model", "openai:m", "--attempts", "1"]

    def call(*words: str, expect: int) -> None:
        result = CliRunner().invoke(viva, list(words))
        assert result.exit_code == expect, result.output

    with ModelServer({"m": examiner(FLIPPED, FAIR)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        call("run", "weather_asks_back", *common, *asks, "--out", str(journal), expect=3)
        call("run", "echo", *common, "--out", str(journal), expect=0)
        call("run", "weather_asks_back", *common, *asks, "--out", str(journal), expect=0)
        assert examined(journal)[:2] == (1, 2)
        whole = ["suite", "weather_asks_back", "--trials", "2", *common, *asks, "--out", str(tmp_path / "whole")]
        call(*whole, expect=0)
        assert examined(tmp_path / "whole")[:2] == (0, 2)
    with ModelServer({"m": examiner(FLIPPED)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        call("suite", "--resume", str(tmp_path / "whole"), "--fresh", expect=3)
        assert examined(tmp_path / "whole")[:2] == (2, 2)
    with ModelServer({"m": examiner(FAIR)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        call("suite", "--resume", str(tmp_path / "whole"), "--fresh", "--max-runs", "1", expect=3)
        call("suite", "--resume", str(tmp_path / "whole"), expect=0)
        assert examined(tmp_path / "whole")[:2] == (0, 2), "nobody chose, so the exams before are those of before"


def test_a_continued_conversation_whose_judgement_failed_forgets_no_unfair_exam(
    hold: Hold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = hold(examiner(FAIR))
    (tmp_path / "part.py").write_text(BREAKS)
    (tmp_path / "broken").touch()
    said: list[str] = []

    def play(request: Request) -> str:
        keyword = STOP_KEYWORD.search(system_text(request))
        assert keyword is not None
        said.append(("How can I help you today?", keyword[1], FAIR[1], keyword[1])[len(said)])
        return said[-1]

    replayed = tmp_path / "replayed"
    words = ["--against", "example:careful", "--fork-at", "1", "--examiner", "model", "--examiner-model", "openai:m"]
    words += ["--evaluators", f"{tmp_path / 'part.py'}:Breaks,exam", "--sandbox", "process", "--out", str(replayed)]
    with ModelServer({"m": play}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = CliRunner().invoke(viva, ["replay", str(held.folder), *words])
        assert result.exit_code == 3, result.output
        assert examined(replayed)[:2] == (1, 2)
        (tmp_path / "broken").unlink()
        result = CliRunner().invoke(viva, ["replay", "--resume", str(replayed), "--retry-errors"])
    assert result.exit_code == 0, result.output
    (record,) = read_records(replayed)
    assert (record.outcome, record.attempt) == (Outcome.SCORED, 2)
    assert examined(replayed)[:2] == (1, 2)
