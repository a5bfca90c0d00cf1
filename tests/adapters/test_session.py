"""One agent in one run: constructed with what it names, spoken to within a limit, closed exactly once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from viva.adapters import Reply, Step, VirtualUser
from viva.adapters import calls as calls_module
from viva.adapters import session as session_module
from viva.adapters.contract import ConnectedAgent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.adapters.tasks import protect_tasks
from viva.errors import AgentError, AgentTimeout, SetupError
from viva.records.codec import to_plain
from viva.records.transcript import StepKind, Usage

ARGUMENTS = AgentArguments("the task", "the/app", {"llm.model": "m"}, Path("ours"), True)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `ours` is made."""
    monkeypatch.chdir(tmp_path)


async def opened(factory: Any, arguments: AgentArguments = ARGUMENTS, seconds: float = 10.0) -> AgentSession:
    return await open_session(factory, arguments, seconds)


async def reply_of(factory: Any, message: str = "Hello", seconds: float = 10.0) -> Reply:
    session = await opened(factory)
    try:
        return await session.reply(message, seconds)
    finally:
        await session.close()


class Plain(VirtualUser):
    def get_reply_from_agent(self, message):
        return f"plain: {message}"


class Async(VirtualUser):
    async def get_reply_from_agent(self, message):
        await asyncio.sleep(0)
        return f"async: {message}"


class PlainThatReturnsAwaitable(VirtualUser):
    def get_reply_from_agent(self, message):
        async def later():
            return f"later: {message}"

        return later()


@pytest.mark.parametrize(
    ("factory", "said"), [(Plain, "plain: Hi"), (Async, "async: Hi"), (PlainThatReturnsAwaitable, "later: Hi")]
)
async def test_plain_and_async_adapters_reply(factory: Any, said: str) -> None:
    assert (await reply_of(factory, "Hi")).text == said


async def test_verbose_is_handed_to_an_adapter_that_takes_it_and_to_no_other() -> None:
    class Verbose(VirtualUser):
        def get_reply_from_agent(self, message, verbose=False):
            return f"verbose={verbose}"

    assert (await reply_of(Verbose)).text == "verbose=True"
    assert (await reply_of(Plain)).text == "plain: Hello"


async def test_an_object_that_knows_nothing_of_viva_will_do() -> None:
    class Duck:
        __slots__ = ()

        def get_reply_from_agent(self, message):
            return "quack"

    session = await opened(Duck)
    assert (await session.reply("?", 5)).text == "quack"
    assert session.workspace == Path("ours")
    assert await session.close() is None


async def test_a_function_that_makes_the_agent_will_do() -> None:
    def make(task_description):
        return Plain(task_description)

    assert (await reply_of(make, "Hi")).text == "plain: Hi"


async def test_the_constructor_gets_exactly_what_it_names() -> None:
    seen: list[Any] = []

    class TaskWeaverForm(Plain):
        def __init__(self, task_description, app_dir, config_var=None):
            seen.append((task_description, app_dir, config_var))
            super().__init__(task_description)

    class Keywords(Plain):
        def __init__(self, task_description, **rest):
            seen.append(rest)

    class KeywordsAndFolder(Plain):
        def __init__(self, workspace, **rest):
            seen.append((workspace, sorted(rest)))

    class Nothing(Plain):
        def __init__(self):
            seen.append("nothing")

    for factory in (TaskWeaverForm, Keywords, KeywordsAndFolder, Nothing):
        await (await opened(factory)).close()
    assert seen == [
        ("the task", "the/app", {"llm.model": "m"}),
        {"app_dir": "the/app", "config_var": {"llm.model": "m"}},
        (Path("ours"), ["app_dir", "config_var", "task_description"]),
        "nothing",
    ]


async def test_a_case_without_app_dir_hands_none_to_an_adapter_that_requires_it() -> None:
    class NeedsApp(Plain):
        def __init__(self, task_description, app_dir):
            super().__init__(task_description, app_dir)

    session = await opened(NeedsApp, AgentArguments("the task"))
    assert session.agent.app_dir is None
    await session.close()


async def test_an_adapter_that_wants_other_arguments_is_a_mistake_in_setup_not_the_agents_failure() -> None:
    class Wants(Plain):
        def __init__(self, task_description, api_url):
            pass

    with pytest.raises(SetupError, match=r"Wants requires api_url .* passes task_description, app_dir, config_var"):
        await opened(Wants)


# Workspace


async def test_the_workspace_is_ours_unless_the_adapter_sets_its_own_while_constructed() -> None:
    class Own(Plain):
        def __init__(self, task_description):
            self.workspace = "its/own"

    class Given(Plain):
        def __init__(self, task_description, workspace):
            super().__init__(task_description)
            self.at_birth = workspace

    plain, own, given = await opened(Plain), await opened(Own), await opened(Given)
    assert plain.workspace == plain.agent.workspace == Path("ours")
    assert own.workspace == Path("its/own")
    assert own.agent.workspace == "its/own"
    assert given.agent.at_birth == given.workspace == given.agent.workspace == Path("ours")
    for session in (plain, own, given):
        await session.close()


async def test_whoever_reads_its_workspace_finds_a_folder_however_its_class_is_written() -> None:
    class Lists(VirtualUser):
        def get_reply_from_agent(self, message):
            return str(os.listdir(self.workspace))

    class WithoutSuper(Lists):
        def __init__(self, task_description):
            pass

    class OfItsOwnMind(Lists):
        workspace = None

    class Duck:
        def get_reply_from_agent(self, message):
            return str(os.listdir(self.workspace))

    class WantsIt(Duck):
        def __init__(self, workspace):
            assert workspace.is_dir()
            self.workspace = None

    @dataclass
    class Fields(Lists):
        task_description: str
        workspace: Path | None = None

    for factory in (Lists, WithoutSuper, OfItsOwnMind, Duck, WantsIt, Fields):
        assert (await reply_of(factory)).text == "[]", factory
        Path("ours").rmdir()


async def test_no_folder_is_made_for_an_agent_that_never_reads_its_workspace() -> None:
    session = await opened(Async)
    await session.reply("Hello", 10.0)
    assert (session.workspace, Path("ours").exists()) == (Path("ours"), False)
    assert session.agent.workspace == Path("ours")
    assert Path("ours").is_dir()
    await session.close()


@pytest.mark.parametrize("plain", [True, False])
async def test_a_workspace_that_cannot_be_made_is_not_the_agents_failure(plain: bool) -> None:
    class Writes(VirtualUser):
        def get_reply_from_agent(self, message):
            (self.workspace / "a.txt").touch()

    class WritesAsync(VirtualUser):
        async def get_reply_from_agent(self, message):
            (self.workspace / "a.txt").touch()

    session = await opened(Writes if plain else WritesAsync)
    Path("ours").touch()
    with pytest.raises(SetupError, match="cannot create the workspace ours"):
        await session.reply("Hello", 10.0)
    await session.close()


async def test_a_workspace_that_is_no_path_is_the_agents_error() -> None:
    class Odd(Plain):
        workspace = 7

    with pytest.raises(AgentError, match="construction failed: TypeError"):
        await opened(Odd)


async def test_each_run_constructs_an_agent_of_its_own() -> None:
    first, second = await opened(Plain), await opened(Plain)
    assert first.agent is not second.agent
    assert await first.close() is None
    assert (await second.reply("still here", 5)).text == "plain: still here"
    await second.close()


# Exceptions

RAISED = [
    RuntimeError("no tools"),
    SystemExit(3),
    KeyboardInterrupt(),
    StopIteration("done"),
    asyncio.CancelledError(),
    GeneratorExit(),
    TimeoutError("its own"),
    AssertionError(),
    BaseExceptionGroup("several", [SystemExit(1)]),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_whatever_an_agent_raises_is_its_error_and_names_the_exception(error: BaseException, kind: str) -> None:
    class PlainRaises(VirtualUser):
        def get_reply_from_agent(self, message):
            raise error

    class AsyncRaises(VirtualUser):
        async def get_reply_from_agent(self, message):
            await asyncio.sleep(0)
            raise error

    session = await opened(PlainRaises if kind == "plain" else AsyncRaises)
    with pytest.raises(AgentError) as caught:
        await session.reply("Hello", 10)
    assert not isinstance(caught.value, AgentTimeout)
    expected = "cancelled" if kind == "async" and isinstance(error, asyncio.CancelledError) else type(error).__name__
    assert expected in str(caught.value)
    assert await session.close() is None


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("base", [Plain, Async])
async def test_whatever_a_constructor_raises_is_the_agents_error(error: BaseException, base: Any) -> None:
    class Raises(base):
        def __init__(self, task_description):
            raise error

    with pytest.raises(AgentError, match=f"construction failed: .*{type(error).__name__}"):
        await opened(Raises)


async def test_an_exception_that_cannot_be_shown_or_never_ends_is_still_told_in_bounds() -> None:
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError

    class Raises(VirtualUser):
        def get_reply_from_agent(self, message):
            raise Unspeakable if message == "1" else ValueError("x" * 5_000_000)

    session = await opened(Raises)
    with pytest.raises(AgentError, match=r"Unspeakable: \(its text cannot be shown"):
        await session.reply("1", 10)
    with pytest.raises(AgentError) as caught:
        await session.reply("2", 10)
    assert len(str(caught.value)) < 5_000
    await session.close()


async def test_a_secret_in_an_exceptions_text_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abc-secret-789")

    class Leaks(VirtualUser):
        def get_reply_from_agent(self, message):
            raise RuntimeError("401 for key abc-secret-789")

    with pytest.raises(AgentError, match=r"401 for key \[SOME_API_KEY\]"):
        await reply_of(Leaks)


# Replies


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        7,
        ["text"],
        Reply(None),
        Reply("x", steps=None),
        Reply("x", steps=({"id": "1"},)),
        Reply("x", (), None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_what_is_not_a_reply_is_the_agents_error(value: object, kind: str) -> None:
    class PlainReturns(VirtualUser):
        def get_reply_from_agent(self, message):
            return value

    class AsyncReturns(VirtualUser):
        async def get_reply_from_agent(self, message):
            return value

    with pytest.raises(AgentError, match="get_reply_from_agent returned"):
        await reply_of(PlainReturns if kind == "plain" else AsyncReturns)


async def test_lone_surrogates_become_text_that_every_encoder_accepts() -> None:
    class Odd(VirtualUser):
        def get_reply_from_agent(self, message):
            return "a\ud800b" if message == "text" else Reply("a\ud800b")

    for message in ("text", "reply"):
        assert (await reply_of(Odd, message)).text == "a\\ud800b"


async def test_a_reply_of_five_megabytes_comes_through_whole() -> None:
    class Flood(VirtualUser):
        def get_reply_from_agent(self, message):
            return "x" * 5_000_000

    assert len((await reply_of(Flood)).text) == 5_000_000


async def test_steps_come_through_be_they_a_list_or_a_tuple() -> None:
    step = Step("1", tool="search", tool_input={"q": 1}, result="found")

    class Steps(VirtualUser):
        def get_reply_from_agent(self, message):
            return Reply("done", [step] if message == "list" else (step,))

    for message in ("list", "tuple"):
        assert (await reply_of(Steps, message)).steps == (step,)


# Threads


async def test_a_plain_agent_is_constructed_called_and_closed_on_one_thread_of_its_own() -> None:
    threads: list[int] = []

    class Bound(VirtualUser):
        def __init__(self, task_description):
            threads.append(threading.get_ident())

        def get_reply_from_agent(self, message):
            threads.append(threading.get_ident())
            return "ok"

        def close(self):
            threads.append(threading.get_ident())

    for _ in range(2):
        session = await opened(Bound)
        await session.reply("1", 5)
        await session.reply("2", 5)
        await session.close()
    assert len(set(threads[:4])) == 1
    assert len(set(threads[4:])) == 1
    assert threading.get_ident() not in threads


# Time limits


class Hangs(VirtualUser):
    """Hangs on 'hang' until it is closed."""

    def __init__(self, task_description):
        super().__init__(task_description)
        self.freed = threading.Event()
        self.closes = 0

    def get_reply_from_agent(self, message):
        if message == "hang":
            self.freed.wait(60)
        return message

    def close(self):
        self.closes += 1
        self.freed.set()


async def test_a_hanging_plain_agent_is_cut_off_closed_once_and_its_siblings_go_on() -> None:
    sessions = [await opened(Hangs) for _ in range(8)]
    hang, fine = ([session.reply("hang", 0.3) for session in sessions[:6]], [s.reply("fine", 30) for s in sessions[6:]])
    results = await asyncio.gather(*hang, *fine, return_exceptions=True)
    assert [type(result) for result in results] == [AgentTimeout] * 6 + [Reply] * 2
    assert [await session.close() for session in sessions] == [None] * 8
    assert [session.agent.closes for session in sessions] == [1] * 8


async def test_an_async_agent_that_swallows_its_cancellation_is_left_behind() -> None:
    class Stubborn(VirtualUser):
        over = False
        closes = 0

        async def get_reply_from_agent(self, message):
            while not self.over:
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue
            return "at last"

        async def close(self):
            self.closes += 1

    session = await opened(Stubborn)
    with pytest.raises(AgentTimeout):
        await session.reply("Hello", 0.05)
    assert await session.close() is None
    assert session.agent.closes == 1
    session.agent.over = True
    await asyncio.sleep(0.05)


def test_a_stubborn_agent_does_not_hold_up_the_end_of_the_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import asyncio
        from viva import VirtualUser
        from viva.errors import AgentTimeout
        from viva.adapters.session import AgentArguments, open_session

        class Stubborn(VirtualUser):
            async def get_reply_from_agent(self, message):
                while True:
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        pass

        async def main():
            session = await open_session(Stubborn, AgentArguments("task"), 5)
            try:
                await session.reply("Hello", 0.05)
            except AgentTimeout:
                print("cut off")
            await session.close()

        asyncio.run(main())
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cut off\n", "")


async def test_a_construction_that_hangs_is_cut_off_and_closed_when_it_ends_after_all() -> None:
    go, closed = threading.Event(), threading.Event()

    class Slow(Plain):
        def __init__(self, task_description):
            go.wait(60)

        def close(self):
            closed.set()

    with pytest.raises(AgentTimeout, match="construction"):
        await opened(Slow, seconds=0.05)
    go.set()
    assert await asyncio.to_thread(closed.wait, 10)


# Closing


@pytest.mark.parametrize("base", [Plain, Async])
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_close_is_called_once_be_it_plain_or_async(base: Any, kind: str) -> None:
    class Counts(base):
        closes = 0

    def plain_close(self):
        self.closes += 1

    async def async_close(self):
        await asyncio.sleep(0)
        self.closes += 1

    Counts.close = plain_close if kind == "plain" else async_close
    session = await opened(Counts)
    await session.reply("Hello", 5)
    assert [await session.close(), await session.close()] == [None, None]
    assert session.agent.closes == 1


async def test_an_agent_without_close_is_fine() -> None:
    class Duck:
        def get_reply_from_agent(self, message):
            return "quack"

    class NoneDuck(Duck):
        close = None

    for factory in (Duck, NoneDuck):
        assert await (await opened(factory)).close() is None


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("base", [Plain, Async])
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_what_close_raises_is_told_and_stops_nobody(error: BaseException, base: Any, kind: str) -> None:
    class Raises(base):
        pass

    def plain_close(self):
        raise error

    async def async_close(self):
        raise error

    Raises.close = plain_close if kind == "plain" else async_close
    trouble = await (await opened(Raises)).close()
    assert trouble is not None
    assert trouble.startswith("close() failed:")


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_close_that_hangs_is_left_behind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CLOSE_SECONDS", 0.05)
    free = threading.Event()

    class PlainHangs(Plain):
        def close(self):
            free.wait(60)

    class AsyncHangs(Async):
        async def close(self):
            await asyncio.sleep(60)

    session = await opened(PlainHangs if kind == "plain" else AsyncHangs)
    assert await session.close() == "close() did not end within 0.05 s"
    free.set()


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_cancelling_a_run_closes_its_agent_once_even_in_the_middle_of_a_reply(kind: str) -> None:
    begun = threading.Event()

    class PlainBusy(Hangs):
        def get_reply_from_agent(self, message):
            begun.set()
            return super().get_reply_from_agent(message)

    class AsyncBusy(VirtualUser):
        closes = 0

        async def get_reply_from_agent(self, message):
            begun.set()
            await asyncio.sleep(60)

        async def close(self):
            self.closes += 1

    session = await opened(PlainBusy if kind == "plain" else AsyncBusy)

    async def run() -> None:
        try:
            await session.reply("hang", 60)
        finally:
            await session.close()

    task = asyncio.create_task(run())
    assert await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.agent.closes == 1


async def test_after_an_exception_the_agent_is_closed_on_its_own_thread() -> None:
    threads: list[int] = []

    class Raises(VirtualUser):
        def get_reply_from_agent(self, message):
            threads.append(threading.get_ident())
            raise RuntimeError

        def close(self):
            threads.append(threading.get_ident())

    with pytest.raises(AgentError):
        await reply_of(Raises)
    assert len(set(threads)) == 1


async def test_what_does_not_heed_its_cancellation_gets_a_moment_to_clean_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "HEED_SECONDS", 5.0)
    cleaned: list[str] = []

    class Cleans(VirtualUser):
        async def get_reply_from_agent(self, message):
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.05)
                cleaned.append("up")

    session = await opened(Cleans)
    with pytest.raises(AgentTimeout):
        await session.reply("Hello", 0.02)
    await session.close()
    assert cleaned == ["up"]


async def test_a_plain_close_that_blocks_does_not_hold_up_the_siblings_of_an_async_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed = threading.Event()

    class Blocks(Async):
        def close(self):
            freed.wait(30)

    monkeypatch.setattr(session_module, "CLOSE_SECONDS", 0.2)
    session = await opened(Blocks)
    closing = asyncio.ensure_future(session.close())
    while not closing.done():
        assert (await reply_of(Async, "Hi")).text == "async: Hi"
        await asyncio.sleep(0.01)
    freed.set()
    assert "did not end" in (await closing or "")


class Unspeakable(str):
    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("no")

    def __str__(self) -> str:
        return "something else"


class Nameless:
    def __repr__(self) -> str:
        raise RuntimeError("no")


ODD: list[Any] = [
    Unspeakable("Hi"),
    Reply(Unspeakable("Hi")),
    Reply("Hi", usage=Usage("a", None)),  # type: ignore[arg-type]
    Reply("Hi", (Step("1", "tool"),)),  # type: ignore[arg-type]
    Reply("Hi", (Step("1", "none of ours"),)),  # type: ignore[arg-type]
    Reply("Hi", (Step(7, tool=9, result=3),)),  # type: ignore[arg-type]
    Reply("Hi", (Step("1", tool_input=Nameless()),)),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
async def test_odd_values_in_a_reply_break_nobody_who_reads_it(odd: Any) -> None:
    class Odd(VirtualUser):
        def get_reply_from_agent(self, message):
            return odd

    reply = await reply_of(Odd)
    assert (type(reply.text), reply.text) == (str, "Hi")
    # What is no number of tokens counts as none that was reported.
    assert replace(reply.usage + Usage(1), reported=True) == Usage(1)
    for step in reply.steps:
        assert isinstance(step.id, str)
        assert isinstance(step.kind, StepKind)
        assert to_plain(step) == to_plain(step)
        repr(step)


async def test_an_agent_whose_workspace_cannot_be_read_is_closed_all_the_same() -> None:
    closed = []

    class NoFolder(VirtualUser):
        @property
        def workspace(self):
            raise RuntimeError("none")

        def get_reply_from_agent(self, message):
            return message

        def close(self):
            closed.append(1)

    with pytest.raises(AgentError, match="RuntimeError: none"):
        await opened(NoFolder)
    assert closed == [1]


class Reads(ConnectedAgent):
    """As connectors that read what a program writes: in a task that begins with `open` and ends with `close`."""

    def __init__(self, task_description: str) -> None:
        self.reading: asyncio.Task[None] | None = None

    async def open(self, seconds: float) -> None:
        self.reading = asyncio.create_task(asyncio.sleep(600))

    async def get_reply_from_agent(self, message: str) -> str:
        return message

    async def close(self) -> None:
        assert self.reading is not None
        self.reading.cancel()
        await asyncio.wait((self.reading,))


async def test_what_a_connector_began_while_it_opened_it_can_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CLOSE_SECONDS", 1.0)
    loop = asyncio.get_running_loop()
    protect_tasks(loop)
    try:
        session = await opened(Reads)
        assert await session.close() is None
        assert session.agent.reading.cancelled()
    finally:
        loop.set_task_factory(None)
