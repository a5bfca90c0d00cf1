"""The summary of a usual suite fits on one screen: one line for each distinct miss, and not one for each trial."""

from __future__ import annotations

import html
import itertools
import random
import re
from pathlib import Path

import pytest

from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.run_record import Outcome
from viva.statistics.summary import summarize

LINES, BYTES = 60, 6_000
NAMES = ("sum_1_to_50", "mean_of_a_column", "weather_asks_back", "same_number_in_two_files", "file_with_a_report")
SUBJECTS = (
    *(
        "mean width of planks",
        "rainfall in Lisbon",
        "debt per head",
        "speed of sound",
        "dose of insulin",
        "count of owls",
    ),
    *(
        "price of copper",
        "height of a tower",
        "share of voters",
        "length of rivers",
        "volume of a cone",
        "age of trees",
    ),
    *("yield of wheat", "loss by friction", "rent in Oslo", "weight of whales", "salary of nurses", "depth of lakes"),
    *("energy of photons", "delay of trains"),
)
AGENTS = ("agents/careful.py:Careful", "agents/hasty.py:Hasty", "agents/forgetful.py:Forgetful")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 cases, 3 agents, 5 trials; each case has points, reasons and quotes of its own, and some agents fail."""
    folder = tmp_path_factory.mktemp("usual") / "journal"
    chance = random.Random(3)
    with Journal(folder) as journal:
        for case in range(20):
            for agent, trial in itertools.product(range(3), range(1, 6)):
                failed = chance.random() < 0.03
                said = chance.random()
                of_it = SUBJECTS[case]
                write_run(
                    journal,
                    f"{NAMES[case % 5]}_{case}",
                    AGENTS[agent],
                    trial,
                    hits=(True, chance.random() > 0.2 + 0.2 * agent, chance.random() > 0.1),
                    statement=f"In the end, the agent reports the right number for file {case}, in a sentence.",
                    reason=f"AssertionError: the agent said {said:.6f}, but the {of_it} is {case}.5 "
                    f"(line {case} of the check), and so the {of_it} is not the one that was wanted",
                    quote=f"The mean of the column of the file number {case} is {said:.6f}, I am sure.",
                    outcome=Outcome.TARGET_ERROR if failed else Outcome.SCORED,
                    error=f"agent.py:{case}: KeyError: 'column {case}' while it read the file" if failed else None,
                )
    return folder


def test_a_usual_suite_fits_on_a_screen_with_a_line_for_each_distinct_miss(usual: Path) -> None:
    text = report("markdown", usual)
    assert text.count("\n") <= LINES
    assert len(text.encode()) <= BYTES
    misses = [line for line in text.splitlines() if " runs, miss: **" in line]
    cases = [line.split("(")[1].split(";")[0] for line in misses]
    assert len(cases) == len(set(cases)) >= 8, "a line for each, and not for each trial"
    assert re.search(r"; (Careful|Hasty|Forgetful) \d, (Careful|Hasty|Forgetful) \d", misses[0]), "of each agent"
    errors = [line for line in text.splitlines() if " runs, target_error: " in line]
    assert len(errors) == 1, "errors that differ in a number are one"


def test_misses_of_most_runs_come_first_and_those_left_out_are_counted(usual: Path) -> None:
    lines = report("markdown", usual).splitlines()
    counts = [int(line.split()[1]) for line in lines if " runs, miss: **" in line]
    assert counts == sorted(counts, reverse=True)
    (left,) = [line for line in lines if line.startswith("Left out here")]
    causes = summarize(read_records(usual)).misses_all
    assert int(left.split()[3]) + len(counts) == causes >= 18


def test_few_misses_are_told_in_full_with_what_was_quoted(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for trial in range(1, 6):
            write_run(journal, trial=trial, hits=(False,), statement=f"It {'really ' * 15}asks.", quote="The city?")
    text = report("markdown", tmp_path)
    assert f"* 5 runs, miss: **It {'really ' * 15}asks.**" in text
    assert text.count("<q>The city?</q>") == 1


def test_a_blank_stands_between_a_reason_and_how_many_runs_have_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for trial, reason in enumerate(("says a", "says a", "says b"), 1):
            write_run(journal, trial=trial, hits=(False,), reason=reason)
    assert "<code>says a</code> (2 of 3; 1 other reason)" in html.unescape(report("markdown", tmp_path))
