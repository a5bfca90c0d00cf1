"""What the parts of other tools' cases become."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.viva.interchange.imports import SOURCES, Imported, checks, said, texts
from viva.errors import SetupError
from viva.interchange.inspect_ai.letters import letter_check

ANSWER = "The agent's answer agrees with the expected answer: "


def imported(name: str, tmp_path: Path) -> Imported:
    return Imported(SOURCES / name, tmp_path / "out")


def of_data(tmp_path: Path, name: str, data: Any, format_name: str | None = None) -> Imported:
    source = tmp_path / name
    source.write_text("\n".join(map(json.dumps, data)) if name.endswith("jsonl") else json.dumps(data))
    return Imported(source, tmp_path / "out", format_name)


class TestAdk:
    def test_invocations_are_rounds_with_their_answers_calls_and_rubrics(self, tmp_path: Path) -> None:
        case = imported("adk/library.evalset.json", tmp_path).cases["renew_a_loan"]
        assert said(case) == ["Please renew my loan L-17.", "And do I owe anything?"]
        assert [(point.score_point, point.round) for point in case.scoring_points if point.check is None][:3] == [
            (ANSWER + "Loan L-17 now ends on 12 March.", 1),
            ("The reply names the new date of return.", 1),
            (ANSWER + "You owe 2 euros.", 2),
        ]
        # test_config.json says that arguments are ignored
        assert checks(case) == [
            {"tool_called": "find_loan", "over": {"round": 1}},
            {"tool_called": "renew", "over": {"round": 1}},
            {"tool_called": "fines", "over": {"round": 2}},
            {"state": {"path": '["renewals"]', "equals": 1}},
        ]
        assert case.state == {"today": "2026-02-26", "branch": {"city": "Ulm"}}

    def test_a_scenario_is_an_exam_by_a_model_with_a_fixed_first_message_and_a_persona(self, tmp_path: Path) -> None:
        cases = imported("adk/library.evalset.json", tmp_path).cases
        case = cases["haggle_about_a_fine"]
        assert (case.script, case.opening, case.max_rounds) == ((), "This fine is too high.", 8)
        assert case.task_description == "You want the fine of 9 euros to be waived."
        assert case.user is not None
        assert "Ask for half of it first." in str(case.user.persona)
        assert "rely on the agent" in str(cases["reserve_a_book"].user)

    def test_without_a_config_arguments_and_answers_count(self, tmp_path: Path) -> None:
        source = tmp_path / "older.test.json"
        source.write_bytes((SOURCES / "adk" / "older.test.json").read_bytes())
        (case,) = Imported(source, tmp_path / "out").cases.values()
        assert checks(case) == [
            {"tool_called": {"name": "roll_die", "arguments": {"sides": 6}, "exact": True}, "over": {"round": 1}}
        ]
        assert texts(case)[0] == ANSWER + "It is a 4."
        assert (case.state, case.config_var) == ({"luck": 7}, {"session_input": {"app_name": "dice", "user_id": "u"}})

    def test_match_types_name_the_evaluator_that_does_the_same(self, tmp_path: Path) -> None:
        report = imported("adk/library.evalset.json", tmp_path).report
        (gate,) = [each.why for each in report.reported if each.path.endswith("tool_trajectory_avg_score.threshold")]
        assert "--evaluators scoring_points,match_in_order --fail-under match_in_order=1.0" in gate
        reference = json.loads((tmp_path / "out" / "reference.json").read_text())
        assert [call["tool"] for call in reference["out#renew_a_loan"]] == ["find_loan", "renew", "fines"]

    def test_thresholds_and_rubrics_of_the_config_hold_for_every_case(self, tmp_path: Path) -> None:
        for case in imported("adk/library.evalset.json", tmp_path).cases.values():
            assert case.threshold == 0.9
            assert "The reply has at most three sentences." in texts(case)

    def test_custom_metrics_are_refused_by_name(self, tmp_path: Path) -> None:
        assert imported("adk/library.evalset.json", tmp_path).reported("refused", "criteria.kindness")


class TestDeepEval:
    def test_expectations_tools_and_context_of_a_golden(self, tmp_path: Path) -> None:
        case = imported("deepeval/goldens.json", tmp_path).cases["tower"]
        assert (said(case), case.max_rounds, case.threshold) == (["What does a ticket to the tower cost?"], 1, 1.0)
        assert texts(case)[:3] == [
            ANSWER + "12 euros",
            "The reply names the price.",
            "This does not happen: The reply promises a discount.",
        ]
        assert checks(case) == [
            {"tool_called": {"name": "prices", "arguments": {"place": "tower"}}},
            {"tool_called": "log"},
        ]
        assert case.background == "Tickets to the tower cost 12 euros.\nChildren pay half."

    def test_a_scenario_continues_its_turns_with_its_persona(self, tmp_path: Path) -> None:
        case = imported("deepeval/conversations.json", tmp_path).cases["move-a-group"]
        assert [(turn.role, turn.content) for turn in case.conversation][-1] == ("agent", "Which number?")
        assert (case.opening, case.script) == ("G-204.", ())
        assert case.user is not None
        assert case.user.persona == (
            "Your name is Ms Orr.\nA teacher with a class of twenty who speaks in short sentences.\nage: 41"
        )

    def test_what_concerns_a_voice_is_refused(self, tmp_path: Path) -> None:
        assert imported("deepeval/conversations.json", tmp_path).reported("refused", "persona.voice")

    def test_a_golden_without_an_expectation_is_marked_and_can_be_run(self, tmp_path: Path) -> None:
        case = imported("deepeval/goldens.json", tmp_path).cases["0002-when-does-the-last-lift-go-up"]
        assert "import-incomplete" in case.tags


class TestOpenAiEvals:
    def test_messages_before_the_last_are_a_conversation_already_begun(self, tmp_path: Path) -> None:
        cases = list(imported("openai_evals/samples.jsonl", tmp_path).cases.values())
        assert [(turn.role, turn.content) for turn in cases[1].conversation] == [
            ("system", "Complete the phrase."),
            ("user", "Salt and"),
            ("agent", "pepper"),
        ]
        assert said(cases[1]) == ["Cat and"]
        assert checks(cases[1]) == [{"equals": ["mouse", "dog"]}]

    def test_a_registry_says_how_samples_are_judged(self, tmp_path: Path) -> None:
        cases = list(imported("openai_evals/capitals.yaml", tmp_path).cases.values())
        assert checks(cases[0]) == [{"contains": {"any": ["Santiago", "Santiago de Chile"], "ignore_case": True}}]

    @pytest.mark.parametrize(
        ("name", "check"),
        [
            ("evals.elsuite.basic.match:Match", {"starts_with": "Lima"}),
            ("evals.elsuite.basic.includes:Includes", {"contains": "Lima"}),
            ("evals.elsuite.basic.fuzzy_match:FuzzyMatch", {"contains": {"all": "Lima", "ignore_case": True}}),
        ],
    )
    def test_each_class_has_its_check(self, name: str, check: Any, tmp_path: Path) -> None:
        (tmp_path / "s.jsonl").write_text('{"input": "Capital of Peru?", "ideal": "Lima"}')
        found = of_data(tmp_path, "e.json", {"e.dev": {"class": name, "args": {"samples_jsonl": "s.jsonl"}}})
        assert [checks(case) for case in found.cases.values()] == [[check]]

    def test_a_class_of_ones_own_is_refused_and_a_model_judges(self, tmp_path: Path) -> None:
        (tmp_path / "s.jsonl").write_text('{"input": "Capital of Peru?", "ideal": "Lima"}')
        found = of_data(tmp_path, "e.json", {"e.dev": {"class": "mine:Own", "args": {"samples_jsonl": "s.jsonl"}}})
        assert found.reported("refused", "class")
        assert [texts(case) for case in found.cases.values()] == [[ANSWER + "Lima"]]

    def test_samples_outside_of_the_folder_are_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "s.jsonl").write_text('{"input": "a", "ideal": "b"}')
        (tmp_path / "in").mkdir()
        spec = {"e.dev": {"class": "x:Match", "args": {"samples_jsonl": "../s.jsonl"}}}
        with pytest.raises(SetupError, match="outside"):
            of_data(tmp_path / "in", "e.json", spec)


class TestPydanticEvals:
    def test_evaluators_are_checks_and_statements(self, tmp_path: Path) -> None:
        cases = imported("pydantic_evals/geography.yaml", tmp_path).cases
        assert checks(cases["capital-of-norway"]) == [
            {"equals": {"text": "Oslo", "trim": False}},
            {"contains": "Oslo"},
            {"contains": {"all": "oslo", "ignore_case": True}},
            {"equals": {"text": "Oslo", "trim": False}},
            {"seconds_at_most": 5},
        ]
        assert checks(cases["0003-how-far-is-it-from-bergen-to-oslo"]) == [
            {
                "all": [
                    {"tool_called": {"name": "distance", "times": {"min": 2}}},
                    {"steps": {"max": 2, "kind": "tool"}},
                ]
            },
            {"tool_order": ["geocode", "distance"]},
            {"tool_called": {"name": "distance", "arguments": {"unit": "km"}}},
            {"steps": {"max": 3, "kind": "tool"}},
            {"steps": {"max": 4, "kind": "model"}},
        ]

    def test_evaluators_of_ones_own_are_refused_by_name_and_the_case_is_marked(self, tmp_path: Path) -> None:
        found = imported("pydantic_evals/geography.yaml", tmp_path)
        assert found.reported("refused", "MyRiverChecker")
        assert any("MyRiverChecker" in mark for mark in found.report.marked["out#rivers"])

    @pytest.mark.parametrize(
        ("given", "seconds"), [(2.5, 2.5), ("PT1M30S", 90.0), ("0:01:30", 90.0), ("P1DT1H", 90000.0)]
    )
    def test_durations_are_seconds(self, given: Any, seconds: float, tmp_path: Path) -> None:
        case = {"inputs": "Hi", "evaluators": [{"MaxDuration": {"seconds": given}}]}
        (found,) = of_data(tmp_path, "d.json", {"cases": [case]}).cases.values()
        assert checks(found) == [{"seconds_at_most": seconds}]


class TestTau2:
    def test_a_task_is_an_exam_by_a_model_that_everything_has_to_be_hit_in(self, tmp_path: Path) -> None:
        case = imported("tau2/tasks.json", tmp_path).cases[
            "gym_0-check-that-the-agent-does-not-freeze-a-contract-twice"
        ]
        assert "Your member number is M-330." in case.task_description
        assert (case.threshold, case.script, case.tags) == (1.0, (), ("gym", "import-incomplete"))
        assert checks(case) == [{"contains": {"all": "2027-01", "ignore_case": True}, "over": "any_round"}]
        assert texts(case)[-1] == "The agent refuses the second freeze."

    def test_actions_are_the_reference_and_points_only_if_they_decide(self, tmp_path: Path) -> None:
        action = {"action_id": "a", "name": "freeze", "arguments": {"member": "M"}}
        task = {"id": "t", "user_scenario": {"instructions": "Freeze."}}
        tasks = [
            task | {"evaluation_criteria": {"actions": [action], "reward_basis": [basis]}} for basis in ("DB", "ACTION")
        ]
        first, second = of_data(tmp_path, "tasks.json", tasks).cases.values()
        assert checks(first) == []
        assert checks(second) == [{"tool_called": {"name": "freeze", "arguments": {"member": "M"}}}]
        reference = json.loads((tmp_path / "out" / "reference.json").read_text())
        assert reference["out#t"] == reference["out#t-2"] == [{"tool": "freeze", "arguments": {"member": "M"}}]


class TestInspect:
    def test_files_are_data_files_wherever_their_content_is(self, tmp_path: Path) -> None:
        case = imported("inspect/samples.jsonl", tmp_path).cases["note"]
        assert (case.folder / "plan.txt").read_text() == "Drink tea."
        assert (case.folder / "big.bin").read_bytes() == b"\0\1\2"

    def test_choices_are_asked_with_letters(self, tmp_path: Path) -> None:
        case = imported("inspect/samples.csv", tmp_path).cases["star"]
        assert "A) moon\nB) sun" in said(case)[0]
        assert checks(case) == [letter_check("B", 2)]

    @pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "a\\b"])
    def test_a_file_that_would_leave_the_workspace_is_refused(self, name: str, tmp_path: Path) -> None:
        found = of_data(tmp_path, "s.jsonl", [{"input": "Hi", "target": "a", "files": {name: "text"}}])
        assert found.reported("refused", "files")
        (case,) = found.cases.values()
        assert case.data_files == ()

    def test_samples_of_a_log_are_cases_and_what_was_recorded_is_reported(self, tmp_path: Path) -> None:
        sample = {
            "id": 1,
            "epoch": 1,
            "input": "2 + 2?",
            "target": "4",
            "messages": [{"role": "user", "content": "2 + 2?"}],
            "scores": {"includes": {"value": "C"}},
            "events": [{"event": "model"}] * 3,
        }
        with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
            archive.writestr("header.json", json.dumps({"version": 2, "eval": {"task": "sums", "model": "m"}}))
            archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
            archive.writestr("samples/1_epoch_2.json", json.dumps(sample | {"epoch": 2}))
        found = Imported(tmp_path / "log.eval", tmp_path / "out")
        (case,) = found.cases.values()
        assert (said(case), checks(case)) == (["2 + 2?"], [{"contains": {"all": "4", "ignore_case": True}}])
        assert found.reported("no home", "recorded")
        assert found.reported("no home", "epochs")
        assert any("viva trace inspect:log.eval" in each.why for each in found.report.reported)


class TestHarbor:
    def test_steps_are_messages_and_their_tests_are_left_as_checks_to_read(self, tmp_path: Path) -> None:
        case = imported("harbor", tmp_path).cases["two-steps"]
        assert said(case) == ["Write 'a' into a.txt.", "Now write 'b' into b.txt."]
        assert all("Read it before you run it" in str(point.eval_code) for point in case.scoring_points)
        assert "import-incomplete" in case.tags

    def test_what_the_container_copies_is_a_data_file(self, tmp_path: Path) -> None:
        case = imported("harbor", tmp_path).cases["count-lines"]
        assert (case.data_files, case.timeout, case.check_limits.seconds) == (("input.txt",), 300.0, 90)
        assert (case.folder / "input.txt").read_text() == "one\ntwo\nthree\n"
        assert case.tags[:2] == ("files", "counting")

    def test_no_link_leads_out_of_a_task(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("secret")
        task = tmp_path / "task"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text('version = "1.0"')
        (task / "instruction.md").symlink_to(tmp_path / "secret.txt")
        with pytest.raises(SetupError, match="outside"):
            Imported(task, tmp_path / "out")
