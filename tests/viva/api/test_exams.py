"""`viva.examine`: what it takes, what it gives, what it raises, in both forms."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

import viva
from tests.viva.api.conftest import AsyncParrot, CaseMaker, Length, Parrot
from tests.viva.viva_command import run_python, run_viva


def test_an_exam_in_plain_code(write_case: CaseMaker) -> None:
    run = viva.examine(write_case(), Parrot, sandbox="process", out="out")
    assert (run.score, run.outcome) == (1.0, viva.Outcome.SCORED)
    assert [each.agent for each in run.transcript.rounds] == ["Hello.", "Good bye."]
    assert run.record is not None
    assert run.record.agent == "tests.viva.api.conftest:Parrot"
    assert run.folder == Path("out").absolute()
    assert [stored.record for stored in viva.read_journal("out")] == [run.record]


async def test_exams_side_by_side_in_async_code(write_case: CaseMaker) -> None:
    case = write_case()
    runs = await asyncio.gather(
        *(viva.examine_async(case, agent, sandbox="process") for agent in (Parrot, AsyncParrot, "example:careful"))
    )
    assert [run.score for run in runs] == [1.0, 1.0, 1.0]
    assert len({run.folder for run in runs}) == 3


async def test_the_plain_form_does_not_block_a_running_loop(write_case: CaseMaker) -> None:
    with pytest.raises(RuntimeError, match=r"await viva\.examine_async"):
        viva.examine(write_case(), Parrot)


def test_the_case_may_be_an_object_or_a_name(write_case: CaseMaker) -> None:
    case = viva.load_case(write_case())
    assert viva.examine(case, Parrot, sandbox="process").setting.case_hash == case.hash
    assert viva.examine("echo", Parrot, sandbox="process", max_rounds=1).setting.case == "echo"


def test_a_function_may_make_the_agent(write_case: CaseMaker) -> None:
    made: list[str] = []

    def make(task_description: str) -> Parrot:
        made.append(task_description)
        return Parrot(task_description)

    assert viva.examine(write_case(), make, sandbox="process").score == 1.0
    assert made == ["Talk."]


def test_a_function_may_be_the_agent(write_case: CaseMaker) -> None:
    def answer(message: str) -> str:
        return message

    assert viva.examine(write_case(), answer, sandbox="process").score == 1.0


def test_a_function_that_fails_is_reported_with_its_own_line(write_case: CaseMaker) -> None:
    async def answer(message: str) -> str:
        raise ValueError("no words")

    run = viva.examine(write_case(), answer, sandbox="process")
    assert run.outcome is viva.Outcome.TARGET_ERROR
    assert run.record is not None
    assert "test_exams.py" in (run.record.error or "")


def test_an_agent_that_fails_is_an_outcome_with_its_own_line(write_case: CaseMaker) -> None:
    class Broken(viva.VirtualUser):
        def get_reply_from_agent(self, message: str) -> str:
            raise ValueError("no words")

    run = viva.examine(write_case(), Broken, sandbox="process")
    assert run.outcome is viva.Outcome.TARGET_ERROR
    assert run.record is not None
    assert "test_exams.py" in (run.record.error or "")
    assert "ValueError: no words" in (run.record.error or "")


def test_the_first_evaluator_alone_decides(write_case: CaseMaker) -> None:
    case = write_case()
    first = viva.examine(case, Parrot, sandbox="process", evaluators=["scoring_points", Length()])
    second = viva.examine(case, Parrot, sandbox="process", evaluators=[Length(6), "scoring_points"])
    assert first.score == 1.0
    assert second.score == 0.5
    assert {insight.evaluator: insight.score for insight in first.insights} == {"scoring_points": 1.0, "length": 0.0}


def test_an_evaluator_may_be_a_class_or_stand_alone(write_case: CaseMaker) -> None:
    assert viva.examine(write_case(), Parrot, evaluators=Length).score == 0.0
    assert viva.examine(write_case(), Parrot, evaluators=Length(20)).score == 1.0


def test_a_folder_takes_the_next_attempt_at_its_run(write_case: CaseMaker) -> None:
    case = write_case()
    for attempt in (1, 2):
        assert viva.examine(case, Parrot, sandbox="process", out="out").attempt == attempt


def test_a_folder_with_a_suite_is_refused(write_case: CaseMaker) -> None:
    case = write_case()
    viva.run_suite(case, Parrot, trials=2, sandbox="process", out="out")
    with pytest.raises(viva.SetupError, match="suite"):
        viva.examine(case, Parrot, sandbox="process", out="out")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_round": 3}, "Did you mean 'max_rounds'"),
        ({"sink": "jsonl"}, "Did you mean 'sinks'"),
        ({"evaluator": "reward"}, "Did you mean 'evaluators'"),
        ({"xyz": 1}, "It takes evaluators, sinks"),
        ({"max_rounds": 0}, "max_rounds must be a whole number, at least 1, not 0"),
        ({"max_rounds": True}, "max_rounds must be a whole number"),
        ({"reply_seconds": -1.0}, "reply_seconds must be a number above 0"),
        ({"reply_seconds": float("nan")}, "reply_seconds must be a number above 0"),
        ({"sandbox": "vm"}, "sandbox must be one of auto, docker, bwrap, process"),
        ({"allow_pre_command": "yes"}, "allow_pre_command must be True or False"),
        ({"agent_memory_mb": 8}, "at least 32"),
        ({"concurrency": 0}, "concurrency must be a whole number"),
        ({"concurrency": None}, "concurrency must be a whole number"),
    ],
)
def test_an_option_that_cannot_be_is_a_setup_error(
    write_case: CaseMaker, options: dict[str, object], words: str
) -> None:
    with pytest.raises(viva.SetupError, match=words):
        viva.examine(write_case(), Parrot, **options)


def test_mistakes_are_told_before_a_journal_is_made(write_case: CaseMaker) -> None:
    case = write_case()
    for agent in (Parrot("task"), object(), "no_such.py:Agent", viva.VirtualUser):
        with pytest.raises(viva.SetupError):
            viva.examine(case, agent, sandbox="process", out="out")  # type: ignore[arg-type]
    with pytest.raises(viva.SetupError, match="requires the SPEC of an agent"):
        viva.examine(case, Parrot, isolate=True, out="out")
    with pytest.raises(viva.CaseError):
        viva.examine("no such case", Parrot, out="out")
    assert not Path("out").exists()


def test_a_journal_that_cannot_be_written_is_a_journal_error(write_case: CaseMaker) -> None:
    case = write_case()
    Path("out").write_text("a file")
    with pytest.raises(viva.JournalError):
        viva.examine(case, Parrot, sandbox="process", out="out")


def test_a_sandbox_that_cannot_be_had_is_a_sandbox_error(
    write_case: CaseMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with pytest.raises(viva.SandboxError):
        viva.examine(write_case(), Parrot, sandbox="docker")


def test_what_the_user_should_know_is_logged(
    write_case: CaseMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with caplog.at_level(logging.WARNING, logger="viva"):
        viva.examine(write_case(), Parrot)
    assert "not docker" in caplog.text


def test_a_class_of_a_script_is_named_as_the_command_line_finds_it(write_case: CaseMaker, tmp_path: Path) -> None:
    write_case()
    script = tmp_path / "script.py"
    script.write_text(
        "import viva\n\n\nclass Parrot(viva.VirtualUser):\n    def get_reply_from_agent(self, message):\n"
        "        return message\n\n\nif __name__ == '__main__':\n"
        "    viva.run_suite('exam', Parrot, sandbox='process', out='out')\n"
    )
    run_python(script.name, cwd=tmp_path, check=True)
    (run,) = viva.read_journal(tmp_path / "out")
    assert run.setting.agent == "script.py:Parrot"
    resumed = ("suite", "--resume", "out", "--fresh", "--quiet")
    done = run_viva(*resumed, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (again,) = viva.read_journal(tmp_path / "out")
    assert (again.id, again.attempt) == (run.id, 2)


def test_every_exam_has_metrics_of_what_its_agent_told(write_case: CaseMaker) -> None:
    class Telling(viva.VirtualUser):
        async def get_reply_from_agent(self, message: str) -> viva.Reply:
            steps = (viva.Step("1", tool="search"), viva.Step("2", tool="search", error="lost"))
            return viva.Reply("7", steps, viva.Usage(12, 3, calls=1, cost=0.5))

    run = viva.examine(write_case(), Telling, sandbox="process")
    assert run.record is not None
    metrics = run.record.metrics
    assert metrics is not None
    assert metrics == run.transcript.metrics
    rounds = len(run.transcript.rounds)
    assert (metrics.tool_calls, metrics.tool_failures) == ({"search": 2 * rounds}, {"search": rounds})
    assert metrics.usage == viva.Usage(12 * rounds, 3 * rounds, calls=rounds, cost=0.5 * rounds)


def test_an_agent_that_observes_itself_is_believed(write_case: CaseMaker) -> None:
    class Observing(viva.VirtualUser):
        metrics = viva.Metrics(aborts={"user_initiated": 1})

        async def get_reply_from_agent(self, message: str) -> str:
            return "7"

    class Strange(Observing):
        @property
        def metrics(self) -> viva.Metrics:  # type: ignore[override]
            raise RuntimeError("not now")

    run = viva.examine(write_case(), Observing, sandbox="process")
    assert run.record is not None
    assert run.record.metrics == viva.Metrics(aborts={"user_initiated": 1})
    strange = viva.examine(write_case(), Strange, sandbox="process")
    assert strange.record is not None
    assert strange.record.metrics == viva.Metrics()


def test_an_exam_can_be_judged_by_its_metrics_and_compared_with_those_before(
    write_case: CaseMaker, tmp_path: Path
) -> None:
    case = write_case()
    tokens = iter(range(100, 100_000, 100))

    class Growing(viva.VirtualUser):
        async def get_reply_from_agent(self, message: str) -> viva.Reply:
            return viva.Reply("7", usage=viva.Usage(next(tokens), calls=1))

    judges = ["scoring_points", "operational"]
    result = viva.run_suite(case, Growing, trials=3, evaluators=judges, concurrency=1, sandbox="process")
    found = {run.setting.trial: run.insights[1].label for run in result.runs()}
    assert found == {1: "Inconclusive", 2: "Degraded", 3: "Degraded"}
