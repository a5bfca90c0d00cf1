"""On a real Ray cluster of several nodes: what dies, what remains, and what must never be seen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.conftest import require
from tests.model_server import ModelServer
from tests.ray_clusters import OPEN, RayNodes, containers_of, descendants, ray_nodes
from tests.viva.conftest import Desk, point
from tests.viva.real_suites import left_running, until
from tests.viva.suites.conftest import MODEL, SECRET
from tests.viva.viva_command import clean_environment, in_this_process, start
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import scan
from viva.suites.adaptive.batches import read_batches
from viva.suites.on_ray import cluster as connection

AGENT = """
async def get_reply_from_agent(self, message):
    import asyncio
    word, _, rest = message.partition(" ")
    if word == "wait":
        while not (Path(rest) / "go").exists():
            (Path(rest) / f"waiting-{os.getpid()}").touch()
            await asyncio.sleep(0.01)
    if word == "exit":
        os._exit(3)
    if word == "tell":
        key = os.environ.get("OPENAI_API_KEY", "")
        print("the key has", len(key))
        return f"{len(key)} characters"
    return message
"""


@pytest.fixture
def place(desk: Desk) -> Desk:
    """A folder with an agent."""
    desk.agent(AGENT)
    return desk


@pytest.fixture
def own_cluster() -> Iterator[RayNodes]:
    """A cluster that a test may damage."""
    os.environ.update(OPEN)
    with ray_nodes(clean_environment()) as nodes:
        yield nodes


def require_ray() -> None:
    """Skip the test where Ray is not installed."""
    require("ray", find_spec("ray"), "Ray is not installed in this environment")


def suite(place: Desk, nodes: RayNodes, *more: str | int) -> list[str | Path | float]:
    """The command for the case `exam`."""
    where = ["--engine", "ray", "--ray-address", nodes.address]
    return ["suite", "exam", "--agent", "agent.py:Agent", "--sandbox", "process", *where, "--out", "j", *more]


def test_an_adaptive_suite_decides_the_same_on_a_cluster_and_here(place: Desk, cluster: RayNodes) -> None:
    for name, said in (("yes", "yes"), ("no", "no")):
        check = {"score_point": "It says yes.", "weight": 1, "check": {"contains": "yes"}}
        place.case(name, script=[said], scoring_points=[check])
    base = ("suite", "yes", "no", "--agent", "agent.py:Agent", "--until", "ci=0.04", "--json")
    on_ray = (*base, "--engine", "ray", "--ray-address", cluster.address)
    far, near = (
        json.loads(place.viva(*words, "--out", out, expect=0).stdout)
        for words, out in ((on_ray, "far"), (base, "near"))
    )
    assert far["decisions"] == near["decisions"]
    assert far["decisions"][0]["batches"] > 1
    assert read_batches(place.folder / "far") == read_batches(place.folder / "near")


def test_a_key_is_used_on_the_nodes_and_never_travels(place: Desk, cluster: RayNodes) -> None:
    place.case(script=["tell"], scoring_points=[point(None, "The sum should be 3.")])
    done = in_this_process(*suite(place, cluster, "--judge-model", f"openai:{MODEL}", "--quiet"), cwd=place.folder)
    assert done.returncode == 0, done.stderr
    (run,) = read_runs(place.folder / "j")
    assert run.transcript.rounds[0].agent == f"{len(SECRET)} characters"
    assert run.record is not None
    assert run.record.usage["judge"].calls == 1
    found = [str(file) for file, content in cluster.logs() if SECRET.encode() in content]
    found += [str(file) for file in (place.folder / "j").rglob("*") if file.is_file() and SECRET in file.read_text()]
    assert found == []
    # The search can find something: Ray writes down which environment it makes.
    assert any(b"RayNodeWorker" in content for _, content in cluster.logs())


def test_a_driver_with_a_key_does_not_send_it(place: Desk, cluster: RayNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    original = connection.RayLink.call

    async def seen(self: connection.RayLink, method: str, *arguments: object) -> object:
        sent.append(repr(arguments).encode())
        return await original(self, method, *arguments)

    monkeypatch.setattr(connection.RayLink, "call", seen)
    (place.folder / ".env").write_text("OPENAI_API_KEY=another-secret-77ab")
    place.case(script=["tell"])
    driver = {"OPENAI_API_KEY": "another-secret-77ab"}
    done = in_this_process(*suite(place, cluster, "--quiet"), cwd=place.folder, environment=driver)
    assert done.returncode == 0, done.stderr
    assert sent
    assert not any(b"another-secret-77ab" in each for each in sent)
    assert [file for file, content in cluster.logs() if b"another-secret-77ab" in content] == []


def test_a_driver_that_is_killed_leaves_no_worker_and_no_container_and_the_suite_resumes(
    place: Desk, cluster: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("docker", shutil.which("docker"), "there is no docker command")
    place.case(script=["one", f"wait {place.folder}"])
    options = ["--sandbox", "docker", "--trials", 2, "--concurrency", 2]
    (tmp := place.folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp))
    process = start(*suite(place, cluster, *options), cwd=place.folder)
    until(lambda: len(list(place.folder.glob("waiting-*"))) == 2, process)
    workers = cluster.workers()
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(tmp.glob("viva-staged-*")) == []
    soon(lambda: cluster.workers() == [])
    assert containers_of(workers) == []
    (place.folder / "go").touch()
    where = ["--engine", "ray", "--ray-address", cluster.address]
    done = in_this_process("suite", "--resume", "j", "--quiet", *where, cwd=place.folder)
    assert done.returncode == 0, done.stderr
    assert [(record.outcome.value, record.attempt) for record in read_records(place.folder / "j")] == [
        ("scored", 2)
    ] * 2
    rounds = [(event.attempt, event.data["number"]) for event in scan(place.folder / "j") if event.kind == "round"]
    assert rounds.count((1, 1)) == 2, "a finished round was lost with the driver"


def test_a_node_that_dies_costs_its_unfinished_runs_alone(place: Desk, own_cluster: RayNodes) -> None:
    own_cluster.start("head", cpus=1)
    place.case(script=["one", f"wait {place.folder}"], scoring_points=[point("assert rounds")])
    own_cluster.start("stays", cpus=1, sandboxes=1)
    own_cluster.start("dies", cpus=1, sandboxes=1)
    process = start(*suite(place, own_cluster, "--trials", 6, "--concurrency", 2), cwd=place.folder)
    until(lambda: len(list(place.folder.glob("waiting-*"))) == 2, process)
    own_cluster.kill("dies")
    (place.folder / "go").touch()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "a worker on the node dies was lost" in errors
    runs = list(read_runs(place.folder / "j"))
    assert [run.record.outcome.value for run in runs if run.record is not None] == ["scored"] * 6
    assert sorted(run.attempt for run in runs) == [1, 1, 1, 1, 1, 2]
    assert {run.setting.node for run in runs if run.attempt == 2} == {"stays"}


def test_an_agent_that_ends_its_worker_costs_its_own_run_alone(place: Desk, cluster: RayNodes) -> None:
    place.case("exits", script=["exit"])
    place.case("stays", script=["one", "two"])
    options = ["--agent", "agent.py:Agent", "--sandbox", "process", "--engine", "ray", "--ray-address", cluster.address]
    limits = ["--trials", 2, "--concurrency", 4, "--ray-workers", 1]
    done = start("suite", "exits", "stays", *options, *limits, "--out", "j", "--json", cwd=place.folder)
    output, errors = done.communicate(timeout=120)
    assert json.loads(output)["ended"] == 4, errors  # Ray itself tells the death of workers on standard output
    found = {(record.subject, record.outcome.value) for record in read_records(place.folder / "j")}
    assert found == {("exits", "infra_error"), ("stays", "scored")}
    assert "--isolate" in errors


def soon(condition: object) -> None:
    """Wait until it comes true, and fail if it does not."""
    assert callable(condition)
    until_ = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until_
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "there is no Ray cluster at 127.0.0.1:1"),
        ("ray://127.0.0.1:10001", "is not HOST:PORT of a Ray head"),
        ("nowhere", "is not HOST:PORT of a Ray head"),
        ("127.0.0.1:99999999", "there is no Ray cluster"),
    ],
)
def test_a_wrong_address_is_told_and_leaves_no_journal(place: Desk, address: str, words: str) -> None:
    require_ray()
    place.case()
    done = in_this_process(
        "suite", "exam", "--agent", "agent.py:Agent", "--sandbox", "process", "--engine", "ray", "--ray-address",
        address, "--out", "j", cwd=place.folder,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (place.folder / "j").exists()


def test_a_port_where_something_else_listens_is_told_at_once(place: Desk) -> None:
    require_ray()
    place.case()
    where = ["--engine", "ray", "--ray-address"]
    with ModelServer({}) as web:
        address = web.url.removeprefix("http://").partition("/")[0]
        done = in_this_process("suite", "exam", *where, address, "--out", "j", cwd=place.folder)
    assert done.returncode == 2, done.stderr
    assert f"what listens at {address} is not the head of a Ray cluster" in done.stderr


def test_a_python_program_uses_a_cluster(place: Desk, cluster: RayNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    place.case(script=["one"])
    where: dict[str, Any] = {"engine": "ray", "ray_address": cluster.address, "sandbox": "process"}
    assert viva.run_suite("exam", "agent.py:Agent", trials=2, out="j", **where).ended == 2
    assert viva.judge("j", out="judged", **where).ended == 2
    assert {run.setting.node for run in read_runs(place.folder / "j")} == {"checks"}


def test_without_ray_the_extra_is_named(place: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    place.case()
    done = in_this_process("suite", "exam", "--engine", "ray", "--out", "j", cwd=place.folder)
    assert done.returncode == 2
    assert "pip install 'vivavoce[ray]'" in done.stderr
    assert not (place.folder / "j").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "spark"), "'spark' is not one of 'local', 'ray'"),
        (("--ray-address", "auto"), "--ray-address and --ray-workers require --engine ray"),
        (("--ray-workers", "2"), "--ray-address and --ray-workers require --engine ray"),
    ],
)
def test_options_of_another_engine_are_refused(place: Desk, options: tuple[str, ...], words: str) -> None:
    place.case()
    done = in_this_process("suite", "exam", *options, "--out", "j", cwd=place.folder)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_cluster_of_this_machine_ends_with_the_command(place: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    require_ray()
    monkeypatch.setenv("VIVA_TEST_MARK", str(place.folder))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    place.case(script=["one", f"wait {place.folder}"], scoring_points=[point("assert rounds")])
    where = ["--engine", "ray", "--ray-workers", 1]
    options = ["--agent", "agent.py:Agent", "--sandbox", "process", "--out", "j", "--json"]
    process = start("suite", "exam", *options, *where, cwd=place.folder)
    until(lambda: bool(list(place.folder.glob("waiting-*"))), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Two of Ray's own processes take a minute or two to notice; nothing of Viva or of an agent is left.
    soon(lambda: not any("RayNodeWorker" in command for command in left_running(str(place.folder))))
    (place.folder / "go").touch()
    done = in_this_process("suite", "--resume", "j", "--json", *where, cwd=place.folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{"), "Ray printed to standard output"
    assert [(record.score, record.attempt) for record in read_records(place.folder / "j")] == [(1.0, 2)]
    assert mine("raylet") == []


def test_a_cluster_of_this_machine_is_for_its_user_alone_and_a_signal_ends_it_without_stacks(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_ray()
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    (tmp := place.folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp))
    place.case(script=["one", f"wait {place.folder}"], scoring_points=[point("assert rounds")])
    options = ["--agent", "agent.py:Agent", "--sandbox", "process", "--out", "j", "--json"]
    process = start("suite", "exam", *options, "--engine", "ray", "--ray-workers", 1, cwd=place.folder)
    try:
        until(lambda: bool(list(place.folder.glob("waiting-*"))), process)
        processes = [process.pid, *descendants(process.pid)]
        addresses = listening(processes)
        folders = [*tmp.glob("viva-nodes-*"), *sessions(processes)]
        modes = {folder.name.partition("-")[2].partition("-")[0]: folder.stat().st_mode & 0o777 for folder in folders}
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    assert addresses, "Ray listens somewhere"
    assert addresses <= {"127.0.0.1", "::1"}
    assert modes == {"nodes": 0o700, "ray": 0o700}
    assert process.returncode == 130
    assert "to resume: viva suite --resume j" in errors
    assert not any(word in errors for word in ("SIGTERM received", "PC: @", "Traceback")), errors
    assert [folder for folder in folders if "viva-ray-" in folder.name and folder.exists()] == []


def listening(processes: Iterable[int]) -> set[str]:
    """The addresses at which processes listen, by what the kernel says."""
    sockets = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            links = [os.readlink(link) for link in (Path("/proc") / str(pid) / "fd").iterdir()]
            sockets |= {
                link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")
            }
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in (Path("/proc/net") / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                words = bytes.fromhex(fields[1].partition(":")[0])
                # Each word of 32 bits is written in the byte order of the machine.
                turned = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
                found.add(socket.inet_ntop(family, turned).removeprefix("::ffff:"))
    return found


def sessions(processes: Iterable[int]) -> list[Path]:
    """The folders of clusters that Ray's processes name in their command lines."""
    found = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            command = (Path("/proc") / str(pid) / "cmdline").read_text(errors="replace")
            found |= set(re.findall(r"/tmp/viva-ray-[^/\0 ]+", command))
    return [Path(folder) for folder in found]


def mine(name: str) -> list[str]:
    """Processes of this name that the command in this process started and left."""
    children = [Path("/proc") / str(pid) / "cmdline" for pid in descendants(os.getpid())]
    commands = [file.read_bytes().decode(errors="replace") for file in children if file.exists()]
    shared = [command for command in commands if "ray-" in command]
    return [command for command in commands if name in command.partition("\0")[0] and command not in shared]
