"""What tests of all packages share: what a machine may lack, and whether it may; models; how many processes test."""

from __future__ import annotations

import compileall
import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import certifi
import pytest
import tenacity

import viva
from tests.costs import Costs
from tests.state import own_state
from tests.warm.processes import warm_processes_work
from tests.warm.workers import fork_workers
from viva.models import retry
from viva.models.autogen.silenced import filters_for_pytest
from viva.models.retry import RetryPolicy

if TYPE_CHECKING:
    from viva.models.client import ModelClient
    from viva.models.metered_model import MeteredModel

KEY = "test-key-123456"
QUICK = RetryPolicy(attempts=3, initial_seconds=0.001, longest_seconds=0.002, longest_retry_after=120)

ModelAt = Callable[..., "ModelClient"]
"""`model_at(url, spec="openai:m")`."""
MeteredAt = Callable[..., "MeteredModel"]
"""`metered_at(url, spec="openai:m")`."""


@contextlib.contextmanager
def _byte_code_kept() -> Iterator[None]:
    """Keep the byte code of what is imported meanwhile, also where `PYTHONDONTWRITEBYTECODE` is set, as in many
    containers.

    Only of what no test writes: of two states of a file that are written within one second, one would be taken for the
    other.
    """
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = False
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


# pytest rewrites the assertions of plugins, and for it Hypothesis is one.
with _byte_code_kept(), contextlib.suppress(ModuleNotFoundError):  # a cluster's environment has only what it needs
    from tests import examples

    examples.register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option of these tests alone."""
    parser.addoption("--costs", action="store_true", help="print what the tests cost in seconds of processor time")


def pytest_configure(config: pytest.Config) -> None:
    """What Viva silences for its users is silent in its tests."""
    if config.getoption("costs"):
        config.pluginmanager.register(Costs(), "costs")
    if is_soak(config):
        examples.load_soak()
    for silenced in filters_for_pytest():
        config.addinivalue_line("filterwarnings", silenced)
    own_state(config)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _compile_viva()


def is_soak(config: pytest.Config) -> bool:
    """Return whether this is `make soak`, which also tries more examples of what Hypothesis tests."""
    return bool(config.getoption("markexpr", "") == "soak")


def _compile_viva() -> None:
    """Hundreds of tests start `viva`, which takes half as long again where each process compiles it anew."""
    (package,) = viva.__path__
    for folder in (Path(package), *(path for path in Path(package).iterdir() if path.is_dir() and path.is_symlink())):
        compileall.compile_dir(folder, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Rewriting the assertions of tests takes as long as all the rest of collecting them, in each process.

    What is collected stays to the end, and would be searched for garbage again and again, while it grows and later.
    """
    gc.disable()
    try:
        with _byte_code_kept():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


TOGETHER = (
    ("tests/installed/",),
    ("tests/sandbox/test_daemon.py", "tests/sandbox/test_life.py"),
    (
        "tests/adapters/frameworks/",
        "tests/viva/agents/test_page_commands.py::test_agents_of_frameworks",
        "tests/viva/agents/test_page_commands.py::test_the_page_of_a_framework",
        "tests/viva/agents/test_page_commands.py::test_an_agent_of_a_framework",
    ),
)
"""Groups of tests that share what is costly to build or to start, or wait for one after the other."""
TOGETHER_BY_FIXTURE = ("browser",)
"""Fixtures whose tests are a group each: a Chromium of its own in each process costs two seconds of processor time."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Begin with the groups, each in a process of its own if there are enough, so that no process waits in the end.

    In a soak, all that Hypothesis tests is tested again, with more examples.
    """
    for item in items if is_soak(config) else ():
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("soak")
    yield
    items[:] = begun_with_groups(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def begun_with_groups(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return the tests such that the part of each process begins with its groups.

    pytest-xdist (`worksteal`) cuts the tests into equal parts, and takes from the end of one for a process that has
    completed its own.
    """
    groups: list[list[pytest.Item]] = [[] for _ in (*TOGETHER, *TOGETHER_BY_FIXTURE)]
    rest = []
    for item in items:
        place = group_of(item)
        (rest if place is None else groups[place]).append(item)
    parts = [[item for group in groups[place::processes] for item in group] for place in range(processes)]
    left = len(items)
    for place in range(processes):
        fill = max(0, left // (processes - place) - len(parts[place]))
        parts[place] += rest[:fill]
        del rest[:fill]
        left -= len(parts[place])
    return [item for part in parts for item in part] + rest


def group_of(item: pytest.Item) -> int | None:
    """Return the place of a test's group among all groups; None where it is in none."""
    for place, prefixes in enumerate(TOGETHER):
        if item.nodeid.startswith(prefixes):
            return place
    fixtures = getattr(item, "fixturenames", ())
    return next((len(TOGETHER) + at for at, name in enumerate(TOGETHER_BY_FIXTURE) if name in fixtures), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """For one file or one test no worker is worth its start; otherwise there are three for each core,
    and on large machines eight more than there are cores.

    More than half of the time of the tests is waiting: for containers, time limits, and processes that are to end. A
    worker costs little where it is forked.
    """
    (only, *others) = [Path(argument.partition("::")[0]) for argument in config.args]
    return 0 if not others and only.is_file() else cores() + (min(2 * cores(), 8) if warm_processes_work() else 2)


def cores() -> int:
    """How many cores the tests may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Collect the tests once, for all workers."""
    fork_workers(config, specs)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell how to repeat the order of the tests, which pytest-randomly only tells where it is not quiet."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and config.getoption("randomly_reorganize"):
        terminalreporter.write_line(f"The tests ran in a random order; for the same one: --randomly-seed={seed}")


@pytest.fixture(scope="session", autouse=True)
def warm_parts() -> Iterator[None]:
    """Sandboxes of the kind `process` and processes of agents start in a fifth of their time.

    Most tests are about other things than how they start.
    """
    if not warm_processes_work():
        yield
        return
    from tests.warm.boxes import warm_boxes
    from tests.warm.interpreters import warm_interpreters

    with warm_boxes(), warm_interpreters():
        yield


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one root certificate.

    Each client of a model reads all that there are, twice, which takes longer than most tests of models; none of them
    speaks TLS.
    """
    end = "-----END CERTIFICATE-----"
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(end)[0] + end + "\n")
    return file


@pytest.fixture
async def model_at(monkeypatch: pytest.MonkeyPatch, one_certificate: Path) -> AsyncIterator[ModelAt]:
    """Makes clients of the server at an address, quick to try again and with `KEY`; closes them in the end."""
    from viva.models.factory import make_model  # loads AutoGen, which most tests do without

    made: list[ModelClient] = []
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))

    def make(url: str, spec: str = "openai:m") -> ModelClient:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        made.append(make_model(spec, policy=QUICK))
        return made[-1]

    yield make
    for model in made:
        await model.close()


@pytest.fixture
def metered_at(model_at: ModelAt) -> MeteredAt:
    """Does the same, with a counter around each client."""
    from viva.models.metered_model import MeteredModel

    return lambda *arguments: MeteredModel(model_at(*arguments))


@pytest.fixture(scope="session")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Phoenix server, shared by all tests: each takes a project of its own.

    It is started when a test first asks for it.
    """
    from tests.phoenix_server import shared_phoenix

    base = tmp_path_factory.getbasetemp()
    # Each process of pytest-xdist has a folder of its own in the one that they share.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with shared_phoenix(shared / "phoenix") as address:
        yield address


def _heed_signals() -> None:
    """Processes started by tests heed the signals that a runner in the background, or `nohup`, has us ignore.

    An ignored signal stays ignored across execve(2); one with a handler is reset to its default.
    """
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


_heed_signals()


def require(name: str, present: object, reason: str) -> None:
    """Skip the test where a part is not there; fail it where `VIVA_REQUIRE` (a comma list) says that it must be."""
    if not present:
        missing(name, reason)


def missing(name: str, reason: str) -> NoReturn:
    """What `require` does where the part is not there."""
    if name in os.environ.get("VIVA_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(f"{name}: {reason}")


def package(name: str) -> Any:
    """Return a module of a package that is among the development tools; `require` says what happens without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing("packages", f"{name} is not installed")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("VIVA_AGENT_API_KEY", raising=False)
    return KEY


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each wait between attempts; nobody really waits."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(retry.tenacity, "AsyncRetrying", partial(tenacity.AsyncRetrying, sleep=sleep))
    return noted
