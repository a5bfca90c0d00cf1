"""What a comparison promises: paired by case, honest about small samples, harmless and with the right exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.cli.commands.compare import command
from viva.errors import SetupError
from viva.journal.writer import FILE, Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Usage
from viva.records.verdict import Insight
from viva.statistics.comparison import PairedComparison, compare
from viva.statistics.comparison_inputs import Runs, choose_agents
from viva.statistics.findings import findings

Scores = Mapping[str, Sequence[float]]


def records(agent: str, scores: Scores, *, cost: float | None = 0.1, setting: Setting | None = None) -> list[RunRecord]:
    return [
        RunRecord(
            run_id(case, agent, trial),
            case,
            agent,
            Outcome.SCORED,
            score,
            low=score,
            high=score,
            trial=trial,
            rounds=3,
            usage={"target": Usage(100, 20, calls=3, cost=cost)},
            timing=Timing(0, 2.0),
            setting=setting or Setting(case=case, agent=agent, judge="code"),
        )
        for case, trials in scores.items()
        for trial, score in enumerate(trials, 1)
    ]


def two(first: list[RunRecord], second: list[RunRecord], threshold: float = 1.0) -> PairedComparison:
    a, b = Runs(Path("a"), first), Runs(Path("b"), second)
    found = compare(a, b, (a.agents[0], b.agents[0]), threshold)
    assert found is not None
    return found


def numbered(*scores: float) -> dict[str, list[float]]:
    return {f"case {number}": [score] for number, score in enumerate(scores)}


def test_only_cases_that_both_have_are_compared_and_the_others_named() -> None:
    found = two(records("x", {"a": [1], "b": [0], "c": [0]}), records("y", {"b": [1], "c": [0], "d": [0]}))
    assert [pair.case for pair in found.cases] == ["b", "c"]
    assert (found.only_first, found.only_second) == (("a",), ("d",))
    assert (found.first.score, found.second.score, found.score.value) == (0.0, 0.5, 0.5)
    assert [pair.case for pair in found.better] == ["b"]


def test_a_case_without_a_run_that_counts_on_one_side_is_not_compared() -> None:
    lost = [replace(record, outcome=Outcome.INFRA_ERROR) for record in records("y", {"b": [0]})]
    found = two(records("x", {"a": [1], "b": [1]}), [*records("y", {"a": [1]}), *lost])
    assert [pair.case for pair in found.cases] == ["a"]
    assert found.not_counted == ("b",)


def test_a_case_passes_when_more_than_half_of_its_trials_do() -> None:
    found = two(
        records("x", {"half": [1, 1, 0, 0], "most": [1, 1, 1, 0]}), records("y", {"half": [1, 1, 1, 0], "most": [0, 1]})
    )
    assert {pair.case: pair.turned for pair in found.cases} == {"half": "better", "most": "worse"}


def test_trials_are_paired_by_their_number_where_both_have_it() -> None:
    found = two(records("x", {"a": [1, 0, 0]}), records("y", {"a": [0, 1]}))
    assert (found.trials_paired, found.trials_better, found.trials_worse) == (2, 1, 1)


def test_eight_cases_that_turn_one_way_are_told_apart() -> None:
    found = two(records("x", numbered(*[0] * 8, 1, 1)), records("y", numbered(*[1] * 8, 1, 1)))
    assert found.p_value == pytest.approx(2 / 2**8)
    assert found.score.clear
    assert "B's mean score is higher than A's" in findings(found)[0]


def test_five_cases_that_turn_are_too_few_for_the_exact_test_and_that_is_said() -> None:
    found = two(records("x", numbered(*[0] * 5, *[1] * 15)), records("y", numbered(*[1] * 20)))
    assert found.p_value > 0.05
    assert any("fewer than 6" in line for line in findings(found))


@pytest.mark.parametrize(("count", "told"), [(5, "In all 5 cases"), (1, "In the one case")])
def test_where_every_case_differs_alike_that_is_said_and_not_that_there_is_no_difference(count: int, told: str) -> None:
    found = two(records("x", numbered(*[1] * count)), records("y", numbered(*[0.0] * count)))
    words = findings(found)[0]
    assert words.startswith(f"{told}, B's mean score differs from A's by the same amount, ")
    assert "too little evidence to generalize to other cases (-1.000" in words
    assert "No difference" not in " ".join(findings(found))


def test_a_sample_too_small_to_tell_says_so_and_what_it_would_miss() -> None:
    found = two(records("x", numbered(0, 1, 0.5)), records("y", numbered(1, 0.8, 0.5)))
    words = " ".join(findings(found))
    assert "No significant difference in mean score" in words
    assert "usually misses a true difference below" in words
    assert "Intervals need at least 5 cases; these are 3 cases." in words


def test_two_cases_are_too_few_to_say_that_one_side_is_better() -> None:
    found = two(records("x", numbered(0, 0.01)), records("y", numbered(1, 1)))
    assert found.score.clear
    words = " ".join(findings(found))
    assert "higher" not in words
    assert "over these cases differs by +0.995" in words
    assert "Intervals need at least 5 cases; these are 2 cases." in words


def test_the_same_results_on_both_sides_are_no_difference_but_not_a_certain_one() -> None:
    same = numbered(*[1] * 10, *[0] * 10)
    found = two(records("x", same), records("y", same))
    assert found.score.value == 0
    assert found.score.interval.low < 0 < found.score.interval.high
    assert not found.score.clear


def test_repeating_each_trial_does_not_make_a_difference_clearer() -> None:
    before, after = numbered(0, 1, 0, 1, 0, 0), numbered(1, 1, 0, 0, 1, 0)
    once = two(records("x", before), records("y", after))
    often = two(
        records("x", {case: list(scores) * 5 for case, scores in before.items()}),
        records("y", {case: list(scores) * 5 for case, scores in after.items()}),
    )
    assert (once.score, once.p_value) == (often.score, often.p_value)


def test_what_differed_besides_the_agents_is_noted() -> None:
    old = records("x", {"a": [1]}, setting=Setting(judge="code", case_hash="1", max_rounds=5))
    new = records("x", {"a": [1]}, setting=Setting(judge="model", judge_model="m", case_hash="2", max_rounds=5))
    assert two(old, new).notes == ("the judge differs: code against model (m)", "1 case changed in between: a")


cases = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from([0, 0.25, 1]), min_size=1, max_size=4), min_size=1
)


@settings(max_examples=examples(60), deadline=None)
@given(cases, cases)
def test_looking_from_the_other_side_turns_every_sign(before: Scores, after: Scores) -> None:
    a, b = Runs(Path("a"), records("x", before)), Runs(Path("b"), records("y", after))
    there, back = compare(a, b, ("x", "y")), compare(b, a, ("y", "x"))
    if there is None or back is None:
        assert not before.keys() & after.keys()
        assert there is back
        return
    assert there.score.value == pytest.approx(-back.score.value)
    assert there.p_value == back.p_value
    assert [pair.case for pair in there.better] == [pair.case for pair in back.worse]
    for difference in (there.score, there.rate):
        assert -1 <= difference.interval.low <= difference.value <= difference.interval.high <= 1


# --- which agents ---


def runs(name: str, *agents: str) -> Runs:
    return Runs(Path(name), [record for agent in agents for record in records(agent, {"a": [1]})])


def test_agents_are_chosen_where_that_leaves_nothing_open() -> None:
    pair, other, one = runs("j", "m:X", "m:Y"), runs("k", "m:Y", "m:Z"), runs("l", "m:W")
    assert choose_agents(pair, pair, None) == [("m:X", "m:Y")]
    assert choose_agents(one, runs("n", "m:V"), None) == [("m:W", "m:V")]
    assert choose_agents(pair, other, None) == [("m:Y", "m:Y")]
    assert choose_agents(pair, other, ("X", "Z")) == [("m:X", "m:Z")]


@pytest.mark.parametrize(
    ("first", "second", "wanted", "said"),
    [
        (["m:X"], None, None, "name a second journal, or two agents"),
        (["m:X", "m:Y"], ["m:Z"], None, "name one of each"),
        (["m:X", "m:Y"], None, ("m", "Y"), "several agents match 'm'"),
        (["m:X", "m:Y"], None, ("Q", "Y"), "no agent matches 'Q'"),
        (["m:X", "m:Y"], None, ("X", "X"), "nothing to compare"),
    ],
)
def test_a_choice_that_is_open_is_the_users_to_make(
    first: list[str], second: list[str] | None, wanted: tuple[str, str] | None, said: str
) -> None:
    one = runs("j", *first)
    with pytest.raises(SetupError, match=said):
        choose_agents(one, one if second is None else runs("k", *second), wanted)


# --- the command ---


def journal(folder: Path, found: list[RunRecord]) -> str:
    with Journal(folder) as opened:
        for record in found:
            opened.append("run", record.id, record.attempt, record)
    return str(folder)


def viva_compare(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), env={"COLUMNS": "160"})


def test_two_journals_side_by_side(tmp_path: Path) -> None:
    a = journal(tmp_path / "a", records("m:X", numbered(*[0] * 8, 1, 1)))
    b = journal(tmp_path / "b", records("m:Y", numbered(*[1] * 8, 1, 0), cost=None))
    result = viva_compare(a, b)
    assert result.exit_code == 0
    assert "8 cases improved, 1 got worse (McNemar, exact: p = 0.0391)" in result.output
    assert "unknown" in result.output
    assert "m:X in" in result.output


def test_json_is_one_object_with_everything(tmp_path: Path) -> None:
    a = journal(tmp_path / "a", records("m:X", numbered(0, 1)) + records("m:Y", numbered(1, 1)))
    result = viva_compare(a, "--agents", "X", "Y", "--json")
    said: Any = json.loads(result.stdout)
    (found,) = said["comparisons"]
    assert found["better"] == ["case 0"]
    assert found["first"]["agent"] == "m:X"
    assert found["score"]["value"] == 0.5
    assert any("Intervals need at least 5 cases" in line for line in found["findings"])


def test_the_scores_of_any_evaluator_are_compared_and_one_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    def judged(agent: str, score: float) -> list[RunRecord]:
        return [
            replace(each, insights=(Insight("points", each.id, "hit", 1.0), Insight("safety", each.id, "", score)))
            for each in records(agent, numbered(*[1] * 6))
        ]

    a, b = journal(tmp_path / "a", judged("m:X", 0.0)), journal(tmp_path / "b", judged("m:X", 1.0))
    assert json.loads(viva_compare(a, b, "--json").stdout)["comparisons"][0]["score"]["value"] == 0
    found = json.loads(viva_compare(a, b, "--evaluator", "safety", "--json").stdout)["comparisons"][0]
    assert (found["score"]["value"], found["evaluator"]) == (1, "safety")
    assert "scores by the evaluator safety" in viva_compare(a, b, "--evaluator", "safety").output
    wrong = viva_compare(a, b, "--evaluator", "tone")
    assert (wrong.exit_code, "Available: points, safety" in wrong.output) == (2, True)


def test_quiet_prints_what_can_be_told_alone(tmp_path: Path) -> None:
    a = journal(tmp_path / "a", records("m:X", numbered(0, 1)) + records("m:Y", numbered(1, 1)))
    assert len(viva_compare(a, "--quiet").stdout.splitlines()) == 3


def test_one_run_of_a_journal_can_be_named(tmp_path: Path) -> None:
    found = records("m:X", numbered(0, 1, 1))
    a, b = journal(tmp_path / "a", found), journal(tmp_path / "b", records("m:X", numbered(1, 1, 1)))
    result = viva_compare(f"{a}#{found[0].id}", b, "--json")
    assert [pair["case"] for pair in json.loads(result.stdout)["comparisons"][0]["cases"]] == ["case 0"]


def test_nothing_in_common_ends_with_3_and_a_missing_journal_with_2(tmp_path: Path) -> None:
    a, b = journal(tmp_path / "a", records("x", {"a": [1]})), journal(tmp_path / "b", records("y", {"b": [1]}))
    result = viva_compare(a, b)
    assert (result.exit_code, "no case has a counted run on both sides" in result.output) == (3, True)
    for bad in (viva_compare(a, str(tmp_path / "none")), viva_compare(a), viva_compare(f"{a}#nobody", b)):
        assert bad.exit_code == 2
        assert "Traceback" not in bad.output


def test_torn_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    a = journal(tmp_path / "a", records("x", {"a": [1]}))
    b = journal(tmp_path / "b", records("x", {"a": [0]}))
    with (tmp_path / "b" / FILE).open("ab") as file:
        file.write(b'{"v":1,"event":"run","run":"torn')
    result = viva_compare(a, b)
    assert result.exit_code == 0
    assert "1 torn line skipped" in result.stderr


def test_hostile_names_reach_the_terminal_as_plain_words(tmp_path: Path) -> None:
    hostile = "\x1b[31m[bold]evil[/bold]\u202e\n"
    a = journal(tmp_path / "a", records(f"x{hostile}", {f"a{hostile}": [1], f"b{hostile}": [1]}))
    b = journal(
        tmp_path / "b",
        records(f"y{hostile}", {f"a{hostile}": [0], f"c{hostile}": [0]}, setting=Setting(judge=hostile, case_hash="2")),
    )
    for result in (viva_compare(a, b), viva_compare(a, b, "--quiet"), viva_compare(a, b, "--agents", "q", hostile)):
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output
    assert "\\x1b[31m[bold]evil[/bold]" in viva_compare(a, b).output
