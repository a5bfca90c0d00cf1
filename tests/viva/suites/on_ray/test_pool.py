"""What happens when a worker is lost or refuses, with workers in this process, which fail when the test says so."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import ModelServer
from tests.viva.conftest import Desk, point
from tests.viva.suites.on_ray.in_process import InProcess, InProcessPlaces
from tests.viva.suites.played_exams import FAIR, FLIPPED, examiner
from viva.cases.find import BUNDLED
from viva.errors import SetupError, SharedSetupError
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import Journal, scan
from viva.statistics.summary import summarize
from viva.suites.conduct import Silence, Surroundings
from viva.suites.engine import SuiteEnd
from viva.suites.job import Action, Job
from viva.suites.judging import judge_journals
from viva.suites.on_ray.border import LinkLost
from viva.suites.on_ray.engine import RayEngine
from viva.suites.on_ray.pool import WorkerPool
from viva.suites.on_ray.remote_worker import RemoteWorker
from viva.suites.request import JournalsRequest, SuiteRequest
from viva.suites.suite import run_suite

AGENT = """
def __init__(self, task_description):
    super().__init__(task_description)
    self.said, self.name = 0, os.urandom(8).hex()

async def get_reply_from_agent(self, message):
    import asyncio
    self.said += 1
    while message == "kill":
        Path(f"kill-{self.name}").touch()
        await asyncio.sleep(0.05)
    while message == "wait" and not Path("go").exists():
        Path(f"waiting-{self.name}").touch()
        await asyncio.sleep(0.005)
    return f"{self.said}"
"""


class Notes(Silence):
    """A display that remembers."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def note(self, words: str) -> None:
        """Remember it."""
        self.words.append(words)


@pytest.fixture
def place(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder with an agent that waits when it is told to."""
    monkeypatch.chdir(desk.folder)
    monkeypatch.setattr(tempfile, "tempdir", str(desk.folder))
    desk.agent(AGENT)
    return desk


def start(
    place: Desk, places: InProcessPlaces, *, resumed: bool = False, **options: Any
) -> tuple[asyncio.Task[SuiteEnd], Notes]:
    """Start a suite of all cases in the folder."""
    notes = Notes()
    trials = options.pop("trials", 1)
    request = SuiteRequest(
        command="suite",
        paths=("cases",),
        agents=("agent.py:Agent",),
        trials=trials,
        options=Options(sandbox="process", **options),
    )
    around = Surroundings(notes, engine=RayEngine(cluster=places))
    return asyncio.create_task(run_suite(request, place.folder / "j", around, resumed=resumed)), notes


def case(place: Desk, name: str, *script: str, code: str | None = "assert rounds") -> None:
    """Write a case."""
    (place.folder / "cases").mkdir(exist_ok=True)
    fields: dict[str, Any] = {"scoring_points": [point(code)]} if code is not None else {}
    place.case(f"cases/{name}", script=list(script), **fields)


def waiting(place: Desk) -> int:
    """The number of conversations that have come to where they wait; one that is cancelled may say so once more."""
    return len(list(place.folder.glob("waiting-*")))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until it comes true."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_unfinished_runs_of_a_lost_worker_are_done_elsewhere_and_finished_rounds_stay(place: Desk) -> None:
    case(place, "waits", "one", "wait", "three")
    places = InProcessPlaces("a", "b")
    suite, notes = start(place, places, concurrency=2, trials=2)
    journal = place.folder / "j"
    await until(lambda: (journal / "journal.jsonl").exists() and place.kinds("j").count("round") == 2)
    places.links[0].lose()
    (place.folder / "go").touch()
    end = await suite
    assert (end.ended, end.left_out) == (2, 0)
    assert {(record.outcome.value, record.rounds) for record in read_records(journal)} == {("scored", 3)}
    assert notes.words == ["a worker on the node a was lost; its unfinished runs are tried elsewhere"]
    rounds = [(event.run, event.attempt, event.data["number"]) for event in scan(journal) if event.kind == "round"]
    (lost,) = {run for run, attempt, _ in rounds if attempt == 2}
    assert [number for run, attempt, number in rounds if (run, attempt) == (lost, 1)] == [1], "a finished round is lost"
    assert len(rounds) == len(set(rounds)) == 7


SLOW = """
import asyncio, pathlib
from viva.records.verdict import Insight


class Slow:
    name = "slow"

    async def evaluate(self, transcript, context):
        pathlib.Path("judging").touch()
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.005)
        return Insight(self.name, context.subject, "fine", 1.0)
"""


async def test_a_conversation_that_ended_before_its_worker_was_lost_is_only_judged(place: Desk) -> None:
    (place.folder / "slow.py").write_text(SLOW)
    case(place, "talks", "one", "two")
    places = InProcessPlaces("a", "b")
    suite, _ = start(place, places, concurrency=2, evaluators=("slow.py:Slow",))
    await until((place.folder / "judging").exists)
    await until(lambda: any(event.kind == "transcript" for event in scan(place.folder / "j")))
    next(link for link in places.links if link.worker._tasks).lose()
    (place.folder / "go").touch()
    assert (await suite).ended == 1
    (record,) = read_records(place.folder / "j")
    assert (record.score, record.attempt, record.rounds) == (1.0, 1, 2)
    assert [event.attempt for event in scan(place.folder / "j") if event.kind == "round"] == [1, 1]


@pytest.mark.parametrize("how", ["lost", "refuses"])
async def test_a_conversation_whose_judging_was_lost_twice_is_not_held_again(place: Desk, how: str) -> None:
    (place.folder / "slow.py").write_text(SLOW)
    case(place, "talks", "one", "two")
    places = InProcessPlaces("a", "b", "c")
    suite, _ = start(place, places, concurrency=3, evaluators=("slow.py:Slow",))
    await until((place.folder / "judging").exists)
    await until(lambda: any(event.kind == "transcript" for event in scan(place.folder / "j")))
    judging = next(link for link in places.links if link.worker._tasks)
    spoiled = spoil_next_job([link for link in places.links if link is not judging], how)
    judging.lose()
    await until(spoiled.is_set)
    (place.folder / "go").touch()
    assert (await suite).ended == 1
    (record,) = read_records(place.folder / "j")
    assert (record.score, record.attempt, record.rounds) == (1.0, 1, 2)
    rounds = [(event.attempt, event.data["number"]) for event in scan(place.folder / "j") if event.kind == "round"]
    assert rounds == [(1, 1), (1, 2)]


COUNTING = """
import pathlib
from viva.records.verdict import Insight


class Counting:
    name = "counting"

    async def evaluate(self, transcript, context):
        with pathlib.Path("judgings").open("a") as file:
            file.write("once ")
        return Insight(self.name, context.subject, "fine", 1.0)
"""


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("how", ["lost", "broken", "refused"])
@pytest.mark.parametrize("again", [False, True], ids=["exam", "judging"])
async def test_a_record_that_was_written_stays_whatever_its_worker_does_then(
    place: Desk, how: str, attempts: int, again: bool
) -> None:
    """An agent in the worker's process can end it after the verdict, but not undo the verdict."""
    (place.folder / "counting.py").write_text(COUNTING)
    case(place, "talks", "one", "two")
    places = InProcessPlaces("a", "b")
    original = places.start_worker

    def start_worker(**more: Any) -> Any:
        link = original(**more)
        end_after_the_record(link, how)
        return link

    places.start_worker = start_worker  # type: ignore[method-assign]
    options: dict[str, Any] = {"concurrency": 1, "attempts": attempts, "evaluators": ("counting.py:Counting",)}
    if again:
        suite, _ = start(place, InProcessPlaces("a"), **options)
        await suite
        (place.folder / "judgings").unlink()
        request = JournalsRequest(
            command="judge",
            references=((str(place.folder / "j"), None),),
            options=Options(sandbox="process", attempts=attempts, evaluators=("counting.py:Counting",)),
        )
        around = Surroundings(Notes(), engine=RayEngine(cluster=places))
        end = (await judge_journals(request, place.folder / "k", around)).end
    else:
        suite, _ = start(place, places, **options)
        end = await suite
    folder = place.folder / ("k" if again else "j")
    assert (end.ended, end.left_out) == (1, 0)
    (record,) = read_records(folder)
    assert (record.outcome.value, record.score, record.attempt, record.rounds) == ("scored", 1.0, 1, 2)
    assert [event.kind for event in scan(folder)].count("run") == 1
    assert (place.folder / "judgings").read_text() == "once ", "judged, and paid for, again"


def end_after_the_record(link: Any, how: str) -> None:
    """Have a worker be lost, or say something else, when it was about to say that it has done its job."""
    original = link.call

    async def call(method: str, *arguments: Any) -> Any:
        answer = await original(method, *arguments)
        if method != "take" or all(event[2] != "end" for event in answer):
            return answer
        if how != "lost":
            return [[*event[:2], how, "no more"] if event[2] == "end" else event for event in answer]
        link.lose()
        return [event for event in answer if event[2] != "end"]

    link.call = call


def spoil_next_job(links: list[Any], how: str) -> asyncio.Event:
    """Have the next job that one of these workers gets fail before anything is written; the event tells when."""
    spoiled = asyncio.Event()

    def spoil(link: Any) -> None:
        original = link.call

        async def call(method: str, *arguments: Any) -> Any:
            if method != "start" or spoiled.is_set():
                return await original(method, *arguments)
            spoiled.set()
            if how == "lost":
                link.lose()
                raise LinkLost
            link.worker._channel.put(arguments[0], "refused", "nothing can be judged here")
            return None

        link.call = call

    for link in links:
        spoil(link)
    return spoiled


WEATHER = """
first = ""
name = ""

async def get_reply_from_agent(self, message):
    import asyncio
    self.first, self.name = self.first or message, self.name or os.urandom(8).hex()
    while self.first == "What is the weather today?" != message and not Path("go").exists():
        Path(f"waiting-{self.name}").touch()
        await asyncio.sleep(0.005)
    return "It is sunny."
"""
"""In the second round of a fair exam, it waits until the test lets it go on."""


@pytest.mark.parametrize(("losses", "outcome"), [(1, "scored"), (2, "infra_error")])
async def test_an_unfair_exam_counts_if_the_worker_that_held_it_again_was_lost(
    place: Desk, monkeypatch: pytest.MonkeyPatch, losses: int, outcome: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    case(place, "weather", code=None)
    shutil.copy(BUNDLED / "weather_asks_back" / "case.yaml", place.folder / "cases" / "weather" / "case.yaml")
    place.agent(WEATHER)
    with ModelServer({"m": examiner(FLIPPED, FAIR)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        places = InProcessPlaces("a", "b")
        asks = {"examiner": "model", "examiner_model": "openai:m"}
        suite, _ = start(place, places, concurrency=2, attempts=2, **asks)
        for number in range(1, losses + 1):
            await until(lambda number=number: waiting(place) == number)  # type: ignore[misc]
            link = next(link for link in places.links if link.worker._tasks)
            link.lose()
            await until(lambda link=link: not link.worker._tasks)  # type: ignore[misc]
        (place.folder / "go").touch()
        assert (await suite).ended == 1
        for link in places.links:
            await link.worker.close()  # those that were lost, too: their connections are in this process
    (record,) = read_records(place.folder / "j")
    assert (record.outcome.value, record.attempt) == (outcome, 3)
    figures = summarize([record]).examiner
    assert figures is not None
    assert (figures.unfair, figures.exams) == (1, 2 if outcome == "scored" else 1)
    assert figures.raw is not None, "what the agent would have scored in the first exam"


async def test_a_run_that_loses_every_worker_ends_as_an_error_and_the_others_go_on(place: Desk) -> None:
    case(place, "waits", "one", "wait")
    places = InProcessPlaces("a", "b")
    suite, _ = start(place, places, concurrency=2, attempts=3)
    for number in range(1, 4):
        await until(lambda number=number: waiting(place) == number)  # type: ignore[misc]
        link = next(link for link in places.links if link.worker._tasks)
        link.lose()
        await until(lambda link=link: not link.worker._tasks)  # type: ignore[misc]
    assert (await suite).ended == 1
    (record,) = read_records(place.folder / "j")
    assert record.outcome.value == "infra_error"
    assert "lost 3 times" in str(record.error)


async def test_runs_that_shared_their_worker_with_one_that_kills_it_are_not_lost_with_it(place: Desk) -> None:
    case(place, "kills", "one", "kill")
    case(place, "talks", "one", "wait", "three")
    places = InProcessPlaces("a")
    suite, _ = start(place, places, concurrency=4, trials=2, attempts=3)
    beside: list[int] = []
    handled: set[str] = set()
    async with asyncio.timeout(60):
        while not suite.done():
            tasks = len(places.links[-1].worker._tasks) if places.links else 0
            # By conversation: what is cancelled may ask once more. The first two times, it is killed when all four are
            # there, of which none can end before: otherwise, time would decide which of them are lost.
            asked = {file.name for file in place.folder.glob("kill-*")} - handled
            if len(asked) == 2 and tasks == 4 if len(beside) < 2 else asked:
                handled |= asked
                beside.append(tasks)
                places.links[-1].lose()
            if len(beside) >= 2 and tasks == 1:
                (place.folder / "go").touch()
            await asyncio.sleep(0.005)
    assert (await suite).ended == 4
    found = sorted((record.subject, record.outcome.value) for record in read_records(place.folder / "j"))
    assert found == [("kills", "infra_error")] * 2 + [("talks", "scored")] * 2
    assert len(beside) == 4, "each of the two is killed in its last attempt"
    assert set(beside[2:]) == {1}, "the last worker of a run that kills it did something else, too"


async def test_a_node_that_cannot_make_an_agent_is_told_once_and_its_runs_go_elsewhere(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    case(place, "talks", "one")
    places = InProcessPlaces("a", "b")
    original = places.start_worker

    def start_worker(**more: Any) -> Any:
        link = original(**more)
        if link.node == "b":
            refuse_on(link)
        return link

    monkeypatch.setattr(places, "start_worker", start_worker)
    suite, notes = start(place, places, concurrency=2, trials=6)
    end = await suite
    assert (end.ended, end.left_out) == (6, 0)
    told = [words for words in notes.words if "no licence here" in words]
    assert len(told) == 1
    assert "the node b" in told[0]
    assert {run.setting.node for run in read_runs(place.folder / "j")} == {"a"}


def refuse_on(link: Any) -> None:
    """Have no agent made on this node."""
    original = link.worker.open

    async def open_and_refuse(order: bytes, setup: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await original(order, setup)
        for spec, agent in link.worker._resources.agents.items():

            def cannot(*_: object, **__: object) -> None:
                raise RuntimeError("no licence here")

            link.worker._resources.agents = {spec: type(agent)(agent.spec, agent.name, cannot)}
        return answer

    link.worker.open = open_and_refuse


async def test_an_agent_that_no_node_can_make_stops_the_suite(place: Desk) -> None:
    case(place, "talks", "one")
    place.agent(
        "def __init__(self, task_description):\n    raise RuntimeError('no key')\n\n"
        "def get_reply_from_agent(self, message):\n    return ''"
    )
    suite, _ = start(place, InProcessPlaces("a", "b"), concurrency=2, trials=4)
    with pytest.raises(SharedSetupError, match=r"no key.*\(on a, b\)"):
        await suite
    assert list(read_records(place.folder / "j")) == []


async def test_checks_are_only_done_where_there_is_a_sandbox(place: Desk) -> None:
    case(place, "checked", "one")
    places = InProcessPlaces("a", "b", "c", sandboxes=1)
    suite, _ = start(place, places, concurrency=3, trials=6)
    assert (await suite).ended == 6
    assert {run.setting.node for run in read_runs(place.folder / "j")} == {"a"}
    assert len(places.links) == 1, "workers that could do nothing were not started"


async def test_without_a_sandbox_anywhere_the_mistake_is_told_before_a_journal_is_made(place: Desk) -> None:
    case(place, "checked", "one")
    suite, _ = start(place, InProcessPlaces("a", sandboxes=0))
    with pytest.raises(SetupError, match=r"no node of the Ray cluster offers viva_sandbox.*the case 'checked'"):
        await suite
    assert not (place.folder / "j").exists()


async def test_a_node_that_could_not_build_what_is_needed_is_told_and_left_out(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    case(place, "talks", "one")
    places = InProcessPlaces("a", "b")
    original = places.start_worker

    def start_worker(**more: Any) -> Any:
        link = original(**more)
        if link.node == "b":

            async def cannot(order: bytes, setup: dict[str, Any]) -> dict[str, Any]:
                return {"error": "there is no module 'agent'", "kind": "setup"}

            link.worker.open = cannot
        return link

    monkeypatch.setattr(places, "start_worker", start_worker)
    suite, notes = start(place, places, concurrency=2, trials=3)
    assert (await suite).ended == 3
    assert [words for words in notes.words if "b" in words] == [
        "the node b does not take part: there is no module 'agent'"
    ]


async def test_files_that_are_too_large_stay_on_the_node_and_the_record_says_where(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viva.suites.on_ray.node_journal.pack_folder", _packs_little)
    place.agent(
        "def get_reply_from_agent(self, message):\n    (self.workspace / 'big').write_bytes(b'x' * 2000)\n"
        "    return 'x'"
    )
    case(place, "writes", "one", code="assert len(open('big').read()) == 2000")
    suite, _ = start(place, InProcessPlaces("a"))
    assert (await suite).ended == 1
    (run,) = read_runs(place.folder / "j")
    assert run.score == 1.0, "it was judged where the files are"
    assert run.record is not None
    for setting in (run.setting, run.record.setting):
        assert setting.workspace is None
        assert "stayed on the node a, in " in setting.workspace_left_out
    where = Path(run.setting.workspace_left_out.partition(", in ")[2].partition(", because")[0])
    assert (where / "big").stat().st_size == 2000


def _packs_little(folder: Path) -> bytes | None:
    from viva.suites.on_ray.archives import pack_folder

    return pack_folder(folder, most=1000)


async def test_the_folders_of_jobs_are_gone_afterwards(place: Desk) -> None:
    case(place, "talks", "one")
    suite, _ = start(place, InProcessPlaces("a"), trials=3)
    await until(lambda: len(list(place.folder.glob("viva-nodes-*/worker-*"))) == 1)
    await suite
    assert list(place.folder.glob("viva-nodes-*/*")) == []
    assert list(place.folder.glob("viva-staged-*")) == []


async def test_a_replacement_that_cannot_be_started_for_any_reason_ends_the_suite_with_an_error(place: Desk) -> None:
    class Failing(InProcessPlaces):
        """Starts one worker, and fails at every other one in a way that nobody foresaw."""

        def start_worker(self, **more: Any) -> Any:
            if self.links:
                raise RuntimeError("the scheduler is gone")
            return super().start_worker(**more)

    case(place, "waits", "one", "wait")
    places = Failing("a")
    suite, _ = start(place, places, attempts=3)
    await until(lambda: waiting(place) == 1)
    places.links[0].lose()
    with pytest.raises(SharedSetupError, match="no worker of the Ray cluster is left"):
        async with asyncio.timeout(60):
            await suite


async def test_a_worker_that_is_kept_free_for_a_job_that_its_node_refuses_gets_other_jobs_again(place: Desk) -> None:
    case(place, "talks", "one")
    with Journal(place.folder / "j") as journal:
        pool = WorkerPool(journal, [], 2, lambda _: False)
        one, two = (RemoteWorker(InProcess(node), node, 1, checks=True) for node in "ab")
        pool.workers += [one, two]
        one.busy, two.busy = 1, 2
        header = RunHeader(id="r", subject="talks", agent="agent.py:Agent")
        waiting = asyncio.create_task(pool._take_all_places(Job(action=Action.EXAMINE, header=header, case_hash="")))
        await until(lambda: one.kept_free)
        pool._refusals["a", "agent.py:Agent"] = "no such agent here"
        await pool.changed()
        await until(lambda: two.kept_free)
        assert not one.kept_free
        two.busy = 0
        await pool.changed()
        assert await waiting is two
        assert not two.kept_free
