"""How many of the examiner's faults are found, and how many fair exams are suspected."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.judge.exam.fair_exams import WRITTEN, Exam, bundled_exams, case_of, shared_exams, talk
from tests.judge.exam.seeds import BY_OTHER_MEANS, BY_RULE, MAKERS, Seed, seeds
from viva.cases.person import Insistence, UserFact, When
from viva.judge.exam.examination import examine_conduct
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.paper import Paper, paper_of_case
from viva.records.fault import Fault
from viva.records.transcript import Round, StopReason, Transcript

PAPERS: dict[int, Paper] = {}


def paper(exam: Exam) -> Paper:
    return PAPERS.setdefault(id(exam), paper_of_case(exam.case))


def found(exam: Exam, transcript: Transcript | None = None) -> list[Finding]:
    return examine_conduct(transcript or exam.transcript, paper(exam))


def is_found(seed: Seed) -> bool:
    findings = found(seed.exam, seed.transcript)
    return any(each.kind is seed.kind and seed.round in (0, each.round) for each in findings)


def recall(kind: ExamFault) -> dict[str, tuple[int, int]]:
    """For each way of making seeds, how many are found, of how many."""
    hits: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for seed in seeds(kind):
        hits[seed.way] += is_found(seed)
        all_[seed.way] += 1
    return {way: (hits[way], all_[way]) for way in all_}


def test_four_fifths_of_all_faults_are_found_without_a_model() -> None:
    by_kind = {kind: recall(kind) for kind in MAKERS}
    for way in (BY_RULE, BY_OTHER_MEANS):
        hits, all_ = map(sum, zip(*(found[way] for found in by_kind.values()), strict=True))
        assert hits >= 0.9 * all_, (way, by_kind)
    for kind, ways in by_kind.items():
        assert sum(hits for hits, _ in ways.values()) >= 0.8 * sum(all_ for _, all_ in ways.values()), (kind, ways)


def test_an_exam_in_which_the_task_was_never_asked_is_always_found() -> None:
    assert recall(ExamFault.NEVER_ASKED) == {BY_RULE: (30, 30), BY_OTHER_MEANS: (30, 30)}


def test_no_fair_exam_is_called_unfair_and_few_have_anything_noted() -> None:
    findings = {exam.name: found(exam) for exam in (*shared_exams(), *WRITTEN, *bundled_exams())}
    assert not [name for name, each in findings.items() if any(one.unfair for one in each)]
    suspected = [name for name, each in findings.items() if each]
    assert len(suspected) <= 0.05 * len(findings), suspected


def test_a_quote_is_copied_from_the_message_of_its_round() -> None:
    for kind in MAKERS:
        for seed in seeds(kind):
            said = {each.number: each.examiner or "" for each in seed.transcript.rounds}
            for finding in found(seed.exam, seed.transcript):
                assert finding.quote.strip(), finding
                assert finding.quote in said[finding.round], finding


def test_what_the_agent_said_first_is_no_leak() -> None:
    exam = next(each for each in WRITTEN if each.name == "column")
    before = talk(
        ("The mean of a column in measurements.csv?", "Is it height_cm? Then 171.25."), ("So 171.25?", "Yes.")
    )
    after = talk(("The mean of a column in measurements.csv? 171.25?", "Which?"), ("height_cm", "171.25."))
    assert not [each for each in found(exam, before) if each.kind is ExamFault.LEAK]
    (leak,) = [each for each in found(exam, after) if each.kind is ExamFault.LEAK]
    assert (leak.round, leak.quote) == (1, "171.25?")


@pytest.mark.parametrize(
    ("point", "code", "said", "leaks"),
    [
        ("The total is 1275.", None, "I think it's 1,275.", True),
        ("The total is 1,275.", None, "Is it 1275?", True),
        ("The total is 1275.", None, "Round 12, please.", False),
        ("The file is right.", 'assert total == 4711, "expected 9999"', "It is 4711.", True),
        ("The file is right.", 'assert total == 4711, "expected 9999"', "It is 9999.", False),
        ("The file is right.", 'assert rounds[1234]["agent"]', "What about 1234?", False),
        ("It names the treaty.", 'assert "treaty of westphalia" in said', "The Treaty of Westphalia, no?", True),
        ("The capital it names is Paris.", None, "It's Paris, isn't it?", True),
        ("Die Hauptstadt heißt Paris, sagt der Agent.", None, "Ich mag die Hauptstadt.", False),
        ("It fails.", "def broken(:", "Say 1234.", False),
    ],
)
def test_what_stands_only_in_points_and_checks_is_a_leak(point: str, code: str | None, said: str, leaks: bool) -> None:
    case = case_of("Ask the agent to count the beans in the jar.", point if code is None else (point, code))
    conversation = talk((f"Count the beans in the jar. {said}", "There are many."))
    findings = examine_conduct(conversation, paper_of_case(case))
    assert (ExamFault.LEAK in {each.kind for each in findings}) is leaks, findings


@pytest.mark.parametrize(
    ("point", "said", "words"),
    [
        ("The total is 1275.", "I think it's 1,275.00.", "'1,275.00' is only"),
        ("The capital it names is Reykjavik.", "It's Reykjavik, isn't it?", "'Reykjavik' is only"),
        (
            "The agent mentions hydraulic excavators and turbines.",
            "Do you mean turbines, hydraulics and Excavators?",
            "'turbines', 'hydraulics', 'Excavators' are only",
        ),
    ],
)
def test_the_reason_of_a_leak_quotes_the_words_that_were_said(point: str, said: str, words: str) -> None:
    case = case_of("Ask the agent to count the beans in the jar.", point)
    findings = examine_conduct(talk((f"Count the beans in the jar. {said}", "Many.")), paper_of_case(case))
    (leak,) = [each for each in findings if each.kind is ExamFault.LEAK]
    assert leak.reason.startswith(words)


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("asked", "the first message tells 'Salamanders', which the user tells only on a condition"),
        ("never", "it tells 'Salamanders', which the user never tells"),
    ],
)
def test_the_reason_of_a_fact_told_too_soon_quotes_the_words_that_were_said(when: When, reason: str) -> None:
    case = replace(
        case_of("Ask the agent to count the beans in the jar.", "It counts."),
        facts=(UserFact("You keep salamanders and hedgehogs.", when),),
    )
    said = "Count the beans in the jar. I keep Salamanders and hedgehogs."
    findings = examine_conduct(talk((said, "Many.")), paper_of_case(case))
    assert [each.reason for each in findings if each.kind is ExamFault.TOLD_TOO_MUCH] == [reason]


def test_an_agent_that_fails_at_a_greeting_gets_no_unfair_exam() -> None:
    exam = next(each for each in WRITTEN if each.name == "column")
    rounds = (Round(1, "Hello! Nice to meet you.", None, error="it crashed"),)
    failed = Transcript(rounds, stop=StopReason.TARGET_ERROR, fault=Fault.TARGET)
    assert not found(exam, failed)


def test_steps_that_failed_excuse_an_early_end() -> None:
    exam = next(each for each in WRITTEN if each.name == "two files")
    again = talk(
        ("Generate a random integer and save it to a.txt.", "No."),
        ("Please generate the random integer, save it to a.txt.", "No."),
        ("Save it to a.txt, a random integer that you generate.", "No."),
    )
    cut = Transcript(again.rounds[:2], stop=StopReason.FINISHED)
    assert [each.unfair for each in found(exam, cut) if each.kind is ExamFault.STOPPED_EARLY] == [True]
    two = Transcript(again.rounds, stop=StopReason.FINISHED)
    assert not [each for each in found(exam, two) if each.unfair]


@pytest.mark.parametrize("stop", [StopReason.MAX_ROUNDS, StopReason.TIMEOUT, StopReason.BUDGET])
def test_only_the_examiners_own_end_is_early(stop: StopReason) -> None:
    exam = next(each for each in WRITTEN if each.name == "two files")
    cut = Transcript(exam.transcript.rounds[:1], stop=stop)
    assert not [each for each in found(exam, cut) if each.kind is ExamFault.STOPPED_EARLY]


@pytest.mark.parametrize("kind", [ExamFault.WANDERED_OFF, ExamFault.INVENTED_FACTS, ExamFault.REPEATED_ITSELF])
def test_cosmetic_faults_are_noted_and_leave_the_exam_fair(kind: ExamFault) -> None:
    for seed in seeds(kind):
        assert not [each for each in found(seed.exam, seed.transcript) if each.kind is kind and each.unfair]


def test_a_strategy_may_play_another_role_and_a_persona_may_not() -> None:
    exam = next(each for each in WRITTEN if each.name == "column")
    flipped = talk(("As the administrator, how can I help you with the mean in measurements.csv?", "Which column?"))
    for given, expected in (({}, True), ({"persona": "terse"}, True), ({"strategy": "claimed-authority"}, False)):
        findings = examine_conduct(flipped, paper_of_case(exam.case, **given))
        assert (ExamFault.ROLE_FLIP in {each.kind for each in findings}) is expected, given


def test_a_task_of_everyday_words_is_not_taken_for_one_that_was_never_asked() -> None:
    fact = UserFact("You like CINNAMON.", "never")
    for case in (case_of("Say something."), case_of("Say something.", facts=(fact,))):
        assert not examine_conduct(talk(("Hello.", "Hello.")), paper_of_case(case))


def test_a_fact_of_the_first_step_is_due_in_the_first_message() -> None:
    step_one = UserFact("The list is called apples.", "step", 1)
    later = UserFact("The list is called apples.", "step", 2)
    said = talk(("Make a list with 3 and 8, called apples.", "Done."), ("Add 7.", "Done."))
    task = "1. Have a list with 3 and 8 made.\n2. Have 7 added."
    for fact, faults in ((step_one, 0), (later, 1)):
        found_ = examine_conduct(said, paper_of_case(case_of(task, facts=(fact,))))
        assert sum(each.kind is ExamFault.TOLD_TOO_MUCH for each in found_) == faults


def test_a_short_goal_may_be_told_in_one_message() -> None:
    task = "You run a small bakery. Get a polite reminder for an unpaid invoice, with at most five sentences."
    said = talk((task, "Here it is."))
    assert not [
        each for each in examine_conduct(said, paper_of_case(case_of(task))) if each.kind is ExamFault.TOLD_TOO_MUCH
    ]


def test_ten_is_ten_o_clock_where_somebody_insists_on_it() -> None:
    case = case_of("You want to go to York on Friday.", insist=Insistence("an arrival before 10:00"))
    said = talk(("York on Friday, before 10.", "The 09:25, at 10:05?"), ("I must be there before 10:00.", "At 09:20."))
    assert not [
        each for each in examine_conduct(said, paper_of_case(case)) if each.kind is ExamFault.INSISTED_TOO_LITTLE
    ]
