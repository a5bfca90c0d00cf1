"""Fifty agents at once, most of which fail, each in its own way: faults stay where they belong, and are told."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.viva.faults.connections import CONNECTIONS, Connection, Ending
from tests.viva.faults.suites import WORDS, FaultySuite, all_words, empty_environment, reached, words_of
from tests.viva.viva_command import in_a_process
from viva.journal.reader import StoredRun
from viva.records.run_record import Outcome
from viva.records.transcript import StopReason

AT_ONCE, WELL = 50, 10
NEEDED = {"acp": "acp", "a2a": "a2a"}
"""The packages of connectors that have one of their own."""
CHEAP = ("command", "chat")
OPEN_SECONDS = 20


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_environment(tmp_path_factory.mktemp("faults") / "venv")


def connection_named(name: str) -> Connection:
    if (package := NEEDED.get(name)) and find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")
    return CONNECTIONS[name]


@pytest.mark.soak
@pytest.mark.parametrize("name", CONNECTIONS)
def test_forty_faults_and_ten_healthy_runs_end_as_they_should(name: str, tmp_path: Path, venv: Path) -> None:
    connection = connection_named(name)
    faults = list(connection.endings)
    check(connection, tmp_path, venv, {fault: faults_of(fault, faults) for fault in faults}, WELL)


@pytest.mark.parametrize("name", CHEAP)
def test_each_fault_ends_its_own_run(name: str, tmp_path: Path, venv: Path) -> None:
    left_out = ("hang", "start-hang", "start-slow", "slow")  # they take seconds
    faults = dict.fromkeys((fault for fault in CONNECTIONS[name].endings if fault not in left_out), 1)
    check(CONNECTIONS[name], tmp_path, venv, faults, well=3)


def faults_of(fault: str, faults: list[str]) -> int:
    """How many of 40 runs show a fault."""
    most = AT_ONCE - WELL
    return most // len(faults) + (faults.index(fault) < most % len(faults))


def check(connection: Connection, folder: Path, venv: Path, faults: dict[str, int], well: int) -> None:
    suite = FaultySuite(folder)
    for fault, count in {**faults, "well": well}.items():
        for number in range(count):
            suite.case(fault, number)
    with reached(suite, connection, venv) as arguments:
        limits = ["--concurrency", AT_ONCE, "--reply-timeout", OPEN_SECONDS]
        done = in_a_process(*arguments, *limits, cwd=folder, environment=suite.variables(), seconds=300)
    assert (done.returncode, "Traceback" in done.stderr, "Task was" in done.stderr) == (0, False, False), done.stderr
    runs = suite.runs()
    assert len(runs) == sum(faults.values()) + well
    wrong = [words for case, run in runs.items() if (words := _wrong(case, run, connection))]
    assert not wrong, "\n".join(wrong)
    assert suite.left() == []


def _wrong(case: str, run: StoredRun, connection: Connection) -> str | None:
    """Return what is wrong with a run, in words."""
    fault = case.partition("_")[2]
    expected = connection.endings.get(fault, Ending(Outcome.SCORED))
    known, own = all_words(run), words_of(case)
    assert run.record is not None
    scored = expected.outcome is Outcome.SCORED
    stop = StopReason.FINISHED if scored else StopReason.TIMEOUT if expected.timeout else StopReason.TARGET_ERROR
    came = (run.record.outcome, run.record.stop, run.record.score)
    if came != (expected.outcome, stop, 1.0 if scored else 0.0):
        return f"{case}: {came}: {known[-600:]}"
    if expected.words and own not in known:
        return f"{case}: its own words are missing: {known[-600:]}"
    if others := set(WORDS.findall(known)) - {own}:
        return f"{case}: it has words of {others}"
    return None if scored or run.record.error else f"{case}: nothing says what was wrong"
