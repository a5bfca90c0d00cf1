"""Programs for people, in a terminal: real ones, and ones that behave as badly as some do."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.child.child_connectors import PATIENCE, noted, until
from tests.adapters.connectors.command.programs import agent_file, opened, write_program
from tests.conftest import missing
from viva.adapters.connectors.command import plain
from viva.adapters.connectors.command.screen import readable
from viva.adapters.inside.wire import LIMIT
from viva.adapters.session import AgentSession
from viva.errors import AgentError, AgentTimeout


def program(name: str) -> str:
    """The path of a real program of the system."""
    found = shutil.which(name)
    if found is None:
        missing("agents", f"install {name}")
    return found


async def texts(session: AgentSession, *messages: str) -> list[str]:
    return [(await session.reply(message, 60)).text for message in messages]


async def opened_python(folder: Path, workspace: Path, text: str, **keys: Any) -> AgentSession:
    write_program(folder, text)
    return await opened(agent_file(folder, mode="plain", command=[sys.executable, "./program.py"], **keys), workspace)


async def test_sqlite_by_the_prompt_that_it_shows(workspace: Path) -> None:
    program("sqlite3")
    session = await opened("cmd+plain:sqlite3 exam.db", workspace)
    assert session.agent.prompt == "sqlite>"
    replies = await texts(
        session,
        "create table t(a, b);",
        "insert into t values (1, 'é'), (2, 'two');",
        "select *\nfrom t\norder by a desc;",
        "select wisdom;",
    )
    assert replies[:3] == ["", "", "2|two\n1|é"]
    assert "no such column: wisdom" in replies[3]
    assert await session.close() is None
    assert (workspace / "exam.db").exists()
    assert session.printed["stdout"].startswith("SQLite version")


async def test_sqlite_by_a_prompt_that_an_agent_file_tells(tmp_path: Path, workspace: Path) -> None:
    program("sqlite3")
    keys = {
        "command": "sqlite3",
        "mode": "plain",
        "prompt": r"^(sqlite| +\.\.\.)>",
        "newlines": "lines",
        "quit": ".quit",
    }
    session = await opened(agent_file(tmp_path, **keys), workspace)
    assert await texts(session, "select 6 * 7;", "select 1\n, 2;", "select 1;\nselect 2;") == ["42", "1|2", "1\n2"]
    assert await session.close() is None


async def test_bc_shows_no_prompt_and_is_done_when_it_is_quiet(tmp_path: Path, workspace: Path) -> None:
    program("bc")
    spec = agent_file(tmp_path, command="bc -q", mode="plain", quiet_seconds=0.3)
    session = await opened(spec, workspace)
    assert session.agent.prompt is None
    assert await texts(session, "6 * 7", "2 ^ 100", "1 / 0; 5") == [
        "42",
        "1267650600228229401496703205376",
        (await session.reply("1 / 0; 5", 60)).text,
    ]
    with pytest.raises(AgentError, match="its process ended with code 0"):
        await session.reply("quit", 60)
    assert await session.close() is None


async def test_node_edits_its_lines_itself_and_its_echo_is_removed(tmp_path: Path, workspace: Path) -> None:
    program("node")
    for variables in ({}, {"TERM": "xterm-256color"}):
        spec = agent_file(tmp_path, command="node -i", mode="plain", prompt="^> ", environment=variables)
        session = await opened(spec, workspace)
        assert await texts(session, "6 * 7", "'é' + \"x\".repeat(3)", "let a = 1;\na + 1") == ["42", "'éxxx'", "2"]
        assert await session.close() is None


async def test_bash_with_its_editor_of_lines(tmp_path: Path, workspace: Path) -> None:
    spec = agent_file(
        tmp_path,
        command="bash --norc --noprofile -i",
        mode="plain",
        prompt=r"^ready> ",
        environment={"PS1": "ready> ", "TERM": "xterm"},
        quit="exit",
    )
    session = await opened(spec, workspace)
    assert await texts(session, "echo hello", "echo there\tthere", "pwd", "false", "x=5; echo $((x + 1))") == [
        "hello",
        "there there",
        str(workspace),
        "",
        "6",
    ]
    long = "y" * 9000
    assert await texts(session, f"echo {long}") == [long]
    assert await session.close() is None


PARROT = "while True:\n    print(input('you> '))\n"


async def test_a_reply_that_repeats_the_message_is_no_echo(tmp_path: Path, workspace: Path) -> None:
    for keys in ({}, {"prompt": "you> "}):
        session = await opened_python(tmp_path, workspace, PARROT, **keys)
        words = ["hello", "hello", "", "äöü 🎭", "you>", "x" * 20_000, "hello"]
        assert await texts(session, *words) == words
        assert await session.close() is None


async def test_control_characters_of_a_message_are_not_typed(tmp_path: Path, workspace: Path) -> None:
    session = await opened_python(tmp_path, workspace, PARROT)
    assert await texts(session, "a\x03b\x04c\x1b[Ad\x7f\te") == ["a b c [Ad  e"]
    assert await session.close() is None


async def test_several_lines_are_one_or_are_entered_in_turn(tmp_path: Path, workspace: Path) -> None:
    program = "while True:\n    print('<' + input('you> ') + '>')\n"
    session = await opened_python(tmp_path, workspace, program)
    assert await texts(session, "one\ntwo\r\n\nthree") == ["<one two  three>"]
    await session.close()
    session = await opened_python(tmp_path, workspace, program, newlines="lines")
    assert await texts(session, "one\ntwo\nthree") == ["<one>\n<two>\n<three>"]
    await session.close()


async def test_colours_bars_and_titles_are_read_as_a_person_reads_them(tmp_path: Path, workspace: Path) -> None:
    text = r"""
import sys
while True:
    input("\x1b[32myou\x1b[0m> ")
    sys.stdout.write("\x1b]0;title\x07\x1b[1;31mred\x1b[0m\r\n")
    for number in range(5):
        sys.stdout.write(f"\r{number * 25} %")
        sys.stdout.flush()
    sys.stdout.write("\r\x1b[Kdone\nab\b\bAB\n\0\x07nul")
    sys.stdout.buffer.write(b" caf\xe9\n")
    sys.stdout.flush()
"""
    session = await opened_python(tmp_path, workspace, text, prompt="you> ")
    assert await texts(session, "go", "again") == ["red\ndone\nAB\nnul caf\\xe9"] * 2
    assert await session.close() is None


async def test_a_prompt_inside_a_reply_does_not_end_it(tmp_path: Path, workspace: Path) -> None:
    text = "while True:\n    input('> ')\n    for n in range(20000):\n        print('> quoted', n, flush=True)\n"
    session = await opened_python(tmp_path, workspace, text)
    assert len((await session.reply("go", 60)).text.splitlines()) == 20_000
    assert await session.close() is None


WAITS = """
import os, sys, threading, time

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)

def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()

"""


async def test_a_slow_program_is_waited_for_and_one_that_pauses_is_found_out(tmp_path: Path, workspace: Path) -> None:
    text = "import time\nwhile True:\n    input()\n    time.sleep(0.8)\n    print('one')\n"
    session = await opened_python(tmp_path, workspace, text, quiet_seconds=0.3)
    assert await texts(session, "go", "go") == ["one", "one"]
    await session.close()
    text = "while True:\n    input()\n    print('one')\n    wait_for('go')\n    print('two')\n    open('said', 'w')\n"
    session = await opened_python(tmp_path, workspace, WAITS + text, quiet_seconds=0.3)
    assert await texts(session, "go") == ["one"]
    (workspace / "go").touch()
    assert await until((workspace / "said").exists)
    with pytest.raises(AgentError, match=r"it went on writing after 0\.3 s of silence, .*: 'two'\. Set a longer"):
        await session.reply("go", 60)
    await session.close()


THINKS = (
    WAITS
    + """
while True:
    show('name> ')
    open('ready', 'w').close()
    line = sys.stdin.readline().strip()
    print('Thinking...')
    wait_for('go')
    print('the answer to', line)
    open('answered', 'w').close()
"""
)


async def test_an_answer_after_a_pause_is_not_taken_for_the_reply_to_the_next_message(
    tmp_path: Path, workspace: Path
) -> None:
    session = await opened_python(tmp_path, workspace, THINKS, quiet_seconds=0.3)
    assert await until((workspace / "ready").exists)  # Python may take longer than that to start
    assert await texts(session, "one") == ["Thinking..."]
    assert session.agent.prompt == "name>"
    (workspace / "go").touch()
    assert await until((workspace / "answered").exists)
    with pytest.raises(AgentError, match=r"it went on writing after 0\.3 s of silence, .*: 'the answer to one'\. Set"):
        await session.reply("two", 60)
    await session.close()


async def test_nor_is_one_that_comes_when_the_next_message_was_typed(tmp_path: Path, workspace: Path) -> None:
    session = await opened_python(tmp_path, workspace, THINKS, quiet_seconds=0.3)
    assert await until((workspace / "ready").exists)
    assert await texts(session, "one") == ["Thinking..."]
    next_one = asyncio.ensure_future(session.reply("two", 60))
    await asyncio.sleep(0.1)
    (workspace / "go").touch()
    with pytest.raises(AgentError, match=r"it went on writing after 0\.3 s of silence, .*the answer to one"):
        await next_one
    await session.close()


async def test_a_greeting_without_a_line_end_is_no_prompt_that_a_later_reply_repeats(
    tmp_path: Path, workspace: Path
) -> None:
    text = """
show('Hello!')
open('ready', 'w').close()
for line in sys.stdin:
    print('Fine.' if line == 'one\\n' else 'Hello! You asked again.', flush=True)
"""
    session = await opened_python(tmp_path, workspace, WAITS + text, quiet_seconds=0.3)
    assert await until((workspace / "ready").exists)
    said = "Hello! You asked again."
    assert await texts(session, "one", "two", "three") == ["Fine.", said, said]
    assert session.agent.prompt == "Hello!"
    assert await session.close() is None


async def test_a_prompt_that_comes_late_belongs_to_no_reply(tmp_path: Path, workspace: Path) -> None:
    text = """
show('name> ')
open('ready', 'w').close()
while True:
    line = sys.stdin.readline().strip()
    print('you said', line)
    if line == 'one':
        wait_for('go')
    show('name> ')
    open(f'{line} is done', 'w').close()
"""
    session = await opened_python(tmp_path, workspace, WAITS + text, quiet_seconds=0.3)
    assert await until((workspace / "ready").exists)
    assert await texts(session, "one") == ["you said one"]
    (workspace / "go").touch()
    assert await until((workspace / "one is done").exists)
    assert await texts(session, "two", "three") == ["you said two", "you said three"]
    assert await session.close() is None


async def test_the_rest_of_a_reply_that_a_prompt_in_it_has_cut_is_not_the_next_one(
    tmp_path: Path, workspace: Path
) -> None:
    text = """
while True:
    line = input('> ')
    if line == 'one':
        show('you said:\\n> ')
        wait_for('go')
        print(line)
        open('quoted', 'w').close()
    else:
        print('you said', line)
"""
    session = await opened_python(tmp_path, workspace, WAITS + text, prompt="^> ")
    assert await texts(session, "one") == ["you said:"]
    (workspace / "go").touch()
    assert await until((workspace / "quoted").exists)
    assert await texts(session, "two", "three") == ["you said two", "you said three"]
    assert await session.close() is None, "nothing failed to close"
    assert session.notes == ("what the agent wrote between its prompt and another message is in no reply: 'one'",)


@pytest.mark.parametrize("keys", [{}, {"prompt": "name> "}])
async def test_what_a_program_writes_unasked_is_kept_apart_and_shifts_no_reply(
    tmp_path: Path, workspace: Path, keys: dict[str, Any]
) -> None:
    text = """
def tell():
    wait_for('go')
    show('\\nYou have mail.\\nname> ')
    open('told', 'w').close()

threading.Thread(target=tell, daemon=True).start()
while True:
    show('name> ')
    open('ready', 'w').close()
    print('you said', sys.stdin.readline().strip())
"""
    session = await opened_python(tmp_path, workspace, WAITS + text, **keys)
    assert await until((workspace / "ready").exists)
    assert await texts(session, "one") == ["you said one"]
    (workspace / "go").touch()
    assert await until((workspace / "told").exists)
    assert await texts(session, "two", "three") == ["you said two", "you said three"]
    assert await session.close() is None
    assert "You have mail." in session.notes[0]
    assert "You have mail." in session.printed["stdout"]


async def test_all_that_a_program_writes_unasked_is_in_one_note(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
def tell(line):
    wait_for('go ' + line)
    show(f'News {line}.\\n> ')
    open('told ' + line, 'w').close()

while True:
    line = input('> ')
    print('you said', line)
    threading.Thread(target=tell, args=(line,), daemon=True).start()
"""
    monkeypatch.setattr(plain, "MOST_UNASKED", 2)
    session = await opened_python(tmp_path, workspace, WAITS + text, prompt="^> ")
    for line in ("1", "2", "3"):
        assert await texts(session, line) == [f"you said {line}"]
        (workspace / f"go {line}").touch()
        assert await until((workspace / f"told {line}").exists)
    assert await texts(session, "last") == ["you said last"]
    assert await session.close() is None
    (note,) = session.notes
    assert note.endswith("is in no reply: 'News 1.', 'News 2.', and 1 further text")


async def test_while_viva_itself_stands_still_no_reply_is_over(tmp_path: Path, workspace: Path) -> None:
    text = """
while True:
    input()
    open('began', 'w').close()
    print('one')
    wait_for('go')
    print('two')
    open('ended', 'w').close()
"""
    session = await opened_python(tmp_path, workspace, WAITS + text, quiet_seconds=0.5)
    reply = asyncio.ensure_future(session.reply("go", 60))
    assert await until((workspace / "began").exists)
    await asyncio.sleep(0.1)  # until the first line was read
    (workspace / "go").touch()
    end = time.monotonic() + PATIENCE
    while not (workspace / "ended").exists() and time.monotonic() < end:
        time.sleep(0.01)  # noqa: ASYNC251
    time.sleep(0.6)  # noqa: ASYNC251
    assert (await reply).text == "one\ntwo"
    await session.close()


async def test_what_a_slow_start_greets_with_is_not_a_reply(tmp_path: Path, workspace: Path) -> None:
    text = "import time\ntime.sleep(1)\nprint('Welcome')\n" + PARROT
    session = await opened_python(tmp_path, workspace, text, quiet_seconds=0.2)
    await asyncio.sleep(1.5)
    assert await texts(session, "hello", "there") == ["hello", "there"]
    assert await session.close() is None
    assert session.printed["stdout"].startswith("Welcome")


async def test_a_prompt_that_never_comes_is_a_failure_that_shows_the_output(tmp_path: Path, workspace: Path) -> None:
    write_program(tmp_path, PARROT)
    spec = agent_file(tmp_path, mode="plain", command="python3 ./program.py", prompt="me> ")
    with pytest.raises(AgentTimeout, match=r"it was not ready within 1 s; its output so far: 'you>'"):
        await opened(spec, workspace, seconds=1)
    session = await opened_python(tmp_path, workspace, "input('> ')\nprint('thinking')\ninput('more')", prompt="> ")
    with pytest.raises(AgentTimeout, match=r"no reply within 1 s; its output so far: 'thinking⏎ more'"):
        await session.reply("go", 1)
    assert await session.close() is None


async def test_a_program_that_ends_is_told_with_its_last_words(tmp_path: Path, workspace: Path) -> None:
    text = "import sys\ninput('> ')\nprint('I have had enough.')\nsys.exit(4)"
    session = await opened_python(tmp_path, workspace, text)
    with pytest.raises(
        AgentError, match=r"its process ended with code 4; the end of its output: 'I have had enough\.'"
    ):
        await session.reply("hello", 60)
    assert await session.close() is None
    with pytest.raises(AgentError, match=r"its construction failed: its process ended with code 1; .*No such file"):
        await opened("cmd+plain:cat ./no/such/file", workspace)


async def test_stderr_is_part_of_the_reply_or_is_kept_apart(tmp_path: Path, workspace: Path) -> None:
    text = "import sys\nwhile True:\n    input('> ')\n    print('err', file=sys.stderr)\n    print('out')\n"
    session = await opened_python(tmp_path, workspace, text)
    assert await texts(session, "hello") == ["err\nout"]
    await session.close()
    session = await opened_python(tmp_path, workspace, text, stderr="printed")
    assert await texts(session, "hello") == ["out"]
    await session.close()
    assert "err" in session.printed["stderr"]


async def test_the_size_of_the_terminal_is_that_of_the_agent_file(tmp_path: Path, workspace: Path) -> None:
    text = "import os\nwhile True:\n    input('> ')\n    print(tuple(os.get_terminal_size()), os.isatty(0))\n"
    session = await opened_python(tmp_path, workspace, text, columns=91, rows=17)
    assert await texts(session, "hello") == ["(91, 17) True"]
    await session.close()


async def test_endless_output_is_cut_off(tmp_path: Path, workspace: Path) -> None:
    text = "import os\nopen('pids', 'w').write(str(os.getpid()))\ninput('> ')\nwhile True:\n    print('x' * 50000)\n"
    session = await opened_python(tmp_path, workspace, text)
    with pytest.raises(AgentError, match=f"it wrote more than {LIMIT:,} bytes in one reply"):
        await session.reply("hello", 60)
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_cursor_that_is_sent_far_away_on_each_line_makes_no_text_without_end(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_on: list[tuple[int, bool]] = []

    def noted_readable(output: str) -> str:
        read_on.append((len(output), threading.current_thread() is threading.main_thread()))
        return readable(output)

    monkeypatch.setattr(plain, "readable", noted_readable)
    text = r"""
import sys
while True:
    input("you> ")
    sys.stdout.write("\x1b[99999Cx\n" * 20_000)
    sys.stdout.flush()
"""
    session = await opened_python(tmp_path, workspace, text, prompt="you> ")
    (reply,) = await texts(session, "go")
    assert await session.close() is None
    assert reply.count("x") == 20_000
    assert len(reply) < 2_000_000
    large = [on_the_loop for size, on_the_loop in read_on if size > plain.LARGE]
    assert large
    assert not any(large), "the reply was read on the event loop"


async def test_a_program_that_reads_nothing_is_cut_off(tmp_path: Path, workspace: Path) -> None:
    text = (
        "import os, time\nopen('pids', 'w').write(str(os.getpid()))\nprint('> ', end='', flush=True)\ntime.sleep(1000)"
    )
    session = await opened_python(tmp_path, workspace, text, close_seconds=0.3)
    with pytest.raises(AgentTimeout):
        await session.reply("x" * 1_000_000, 1)
    assert await session.close() is None
    assert not noted(workspace)


async def test_many_terminals_at_once_do_not_mix(tmp_path: Path) -> None:
    async def one(number: int) -> None:
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        session = await opened(f"cmd+plain:{sys.executable} {tmp_path / 'program.py'}", folder)
        assert await texts(session, *(f"{number} {round_}" for round_ in range(5))) == [
            f"{number} {n}" for n in range(5)
        ]
        assert await session.close() is None

    write_program(tmp_path, PARROT)
    await asyncio.gather(*map(one, range(30)))
