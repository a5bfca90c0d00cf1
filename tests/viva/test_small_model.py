"""Exams with a real, very small language model in every role, through a real server.

It rambles, repeats itself, forgets the task and ignores every form. None of that may cost an agent a point that it had
earned, hang, or raise. All of it is a soak: how long it takes depends on the machine by more than a factor of thirty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import viva
from tests.small_model import NAME, small_model_server
from tests.viva.viva_command import in_this_process
from viva.judge.calibration.sets import BUILTIN_FOLDER
from viva.judge.registry import EVALUATORS
from viva.records.run_record import Outcome
from viva.records.transcript import NO_USAGE, Transcript
from viva.records.verdict import Label

pytestmark = pytest.mark.soak
MODEL = f"openai:{NAME}"
CASES = ("echo", "mean_of_a_column", "same_number_in_two_files", "sum_1_to_50", "weather_asks_back")
TOKENS = {"examiner": 160, "judge": 160, "trajectory": 160, "session": 200}
"""Few, because it would use as many as it gets."""
LIMITS = [f"{role}={most}" for role, most in TOKENS.items()]
REQUESTS: Mapping[str, str] = {
    "echo": r"GUTENBERG",
    "mean_of_a_column": r"\b(mean|average)\b|measurements\.csv",
    "same_number_in_two_files": r"\b(random|integer)\b.*\b(number|file)\b|a\.txt",
    "sum_1_to_50": r"\badd\b.*\d|\bsum\b.*\d",
    "weather_asks_back": r"\bweather\b",
}
"""What an examiner must have said if it has asked for the task of a case; simpler than any judge."""
ON_ITS_OWN = frozenset({Outcome.SCORED, Outcome.EXAMINER_ERROR})


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterable[str]:
    seed = int(request.config.getoption("randomly_seed", 1) or 1) % 2**31
    with small_model_server(tmp_path_factory.mktemp("small"), seed) as address:
        yield address


@pytest.fixture
def model(served: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the model, which is also that of `openai:NAME`."""
    monkeypatch.setenv("OPENAI_BASE_URL", served)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("VIVA_MODEL_SECONDS", "600")  # the machine may have much else to do
    return served


def held(folder: Path, cases: Iterable[str], agent: str = "example:careful", **options: Any) -> list[viva.StoredRun]:
    """Hold exams, and check what holds for each, whatever the model said."""
    defaults = {"max_output_tokens": LIMITS, "attempts": 1, "concurrency": 1, "reply_seconds": 900, "max_rounds": 4}
    options = {**defaults, **options}
    viva.run_suite(list(cases), agent, out=folder, **options)
    runs = list(viva.read_journal(folder))
    for run in runs:
        record = run.record
        assert record is not None
        assert record.outcome in Outcome
        assert len(run.transcript.rounds) <= (options["max_rounds"] or 50)
        if options.get("examiner_model"):
            check_usage(run.transcript, TOKENS["examiner"])
        for insight in record.insights:
            check_insight(insight)
    return runs


def check_usage(transcript: Transcript, most: int) -> None:
    """No message of the examiner may be longer than its limit."""
    spent = transcript.usage.get("examiner", NO_USAGE)
    assert spent.output_tokens <= most * max(1, spent.calls)


def check_insight(insight: viva.Insight) -> None:
    for verdict in insight.verdicts:
        assert verdict.label, "no verdict without a label"
        assert verdict.score is None or 0 <= verdict.score <= 1
        unusable = verdict.label == Label.ERROR
        assert not unusable or verdict.score is None, "an answer that cannot be used is no miss"


def was_asked(case: str, transcript: Transcript) -> bool:
    said = "\n".join(round_.examiner or "" for round_ in transcript.rounds)
    return re.search(REQUESTS[case], said, re.IGNORECASE | re.DOTALL) is not None


def check_fairness(runs: Iterable[viva.StoredRun]) -> None:
    """No exam may count in which the task was never asked for."""
    for run in runs:
        assert run.record is not None
        assert run.record.outcome in ON_ITS_OWN, run.record.error
        # Only the evaluator `exam` can see this.
        if "exam" in EVALUATORS.builtin and run.record.outcome is Outcome.SCORED:
            assert was_asked(run.record.setting.case, run.transcript), run.transcript.rounds


def test_an_exam_with_the_model_on_both_sides_ends_within_its_limits(model: str, tmp_path: Path) -> None:
    runs = held(
        tmp_path / "journal",
        ["weather_asks_back"],
        f"{model}#{NAME}",
        examiner_model=MODEL,
        max_output_tokens=["examiner=48", "judge=48"],
        max_rounds=1,
        sandbox="process",
    )
    assert len(runs) == 1
    check_fairness(runs)


@pytest.mark.parametrize("trial", range(4))
@pytest.mark.parametrize("case", CASES)
def test_exams_with_the_model_as_examiner_end_fairly(case: str, trial: int, model: str, tmp_path: Path) -> None:
    """Twenty exams; each trial gets other messages, because the server's choices go on."""
    runs = held(tmp_path / "journal", [case], examiner_model=MODEL)
    assert len(runs) == 1
    check_fairness(runs)


def test_an_exam_with_the_usual_limits_ends_too(model: str, tmp_path: Path) -> None:
    runs = held(tmp_path / "journal", ["weather_asks_back"], examiner_model=MODEL, max_output_tokens=[], max_rounds=2)
    assert [run.record is not None and run.record.outcome in ON_ITS_OWN for run in runs] == [True]


@pytest.mark.parametrize("case", CASES)
def test_as_a_second_judge_it_costs_an_agent_nothing(case: str, model: str, tmp_path: Path) -> None:
    """The script asks and the code decides; what the model says of it is beside that."""
    evaluators = ["scoring_points", "session", "sequence"]
    runs = held(tmp_path / "journal", [case], judge="both", judge_model=MODEL, evaluators=evaluators, max_rounds=None)
    (run,) = runs
    assert run.record is not None
    assert (run.record.outcome, run.record.score) == (Outcome.SCORED, 1.0)
    assert [insight.evaluator for insight in run.record.insights] == evaluators
    spent = run.record.usage["judge"]
    assert spent.output_tokens <= max(TOKENS.values()) * max(1, spent.calls)


@pytest.mark.parametrize("case", CASES)
def test_as_the_only_judge_its_unusable_answers_are_no_misses(case: str, model: str, tmp_path: Path) -> None:
    runs = held(tmp_path / "journal", [case], judge="model", judge_model=MODEL)
    (run,) = runs
    assert run.record is not None
    (points,) = run.record.insights
    unusable = [verdict for verdict in points.verdicts if verdict.label == Label.ERROR]
    assert run.record.outcome is (Outcome.JUDGE_ERROR if unusable else Outcome.SCORED)
    for verdict in points.verdicts:
        assert verdict.label in (Label.HIT, Label.MISS, Label.UNSURE, Label.ERROR)
        assert verdict.label != Label.HIT or verdict.evidence, "no hit without a quote that stands in the transcript"


@pytest.mark.parametrize("case", CASES)
def test_as_agent_it_is_scored_whatever_it_says(case: str, model: str, tmp_path: Path) -> None:
    runs = held(tmp_path / "journal", [case], f"{model}#{NAME}")
    (run,) = runs
    assert run.record is not None
    assert run.record.outcome in (Outcome.SCORED, Outcome.TARGET_ERROR), run.record.error


def test_as_judge_of_a_recorded_session_and_trajectory_it_never_passes_by_default(model: str, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    calls = [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "What is the weather in Paris?"},
        {"role": "assistant", "content": "I will look.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "rain, 9 degrees"},
        {"role": "assistant", "content": "It rains in Paris, at 9 degrees."},
    ]
    chat.write_text(json.dumps({"messages": messages}))
    evaluators = ["session", "query_to_thought", "thought_to_tool", "sequence", "parameter_quality", "alignment"]
    viva.trace(f"chat:{chat}", out=tmp_path / "journal", evaluators=evaluators, model=MODEL, max_output_tokens=LIMITS)
    (run,) = viva.read_journal(tmp_path / "journal")
    assert run.record is not None
    assert run.record.outcome in (Outcome.SCORED, Outcome.JUDGE_ERROR)
    assert len(run.record.insights) == len(evaluators)
    for insight in run.record.insights:
        check_insight(insight)


def test_as_a_judge_of_labelled_points_it_is_not_shown_to_be_better_than_chance(model: str, tmp_path: Path) -> None:
    """On a few points of the set in the box: on all of them, it would take hours."""
    items = yaml.safe_load((BUILTIN_FOLDER / "answers.yaml").read_text(encoding="utf-8"))[:3]
    (tmp_path / "few.yaml").write_text(yaml.safe_dump(items, allow_unicode=True), encoding="utf-8")
    words = ("--set", "few.yaml", "--judge-model", MODEL, "--max-output-tokens", f"judge={TOKENS['judge']}")
    environment = {"OPENAI_BASE_URL": model, "VIVA_MODEL_SECONDS": "600"}
    done = in_this_process("calibrate", *words, "--concurrency", "1", cwd=tmp_path, environment=environment)
    assert done.returncode in (0, 3), done.stderr
    said = " ".join(done.stdout.split())
    assert f"{NAME}: not shown to be better than chance" in said or f"{NAME}: no usable verdict" in said
