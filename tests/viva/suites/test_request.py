"""The stored request: what may change when work is resumed is one answer, and older journals are resumed, too."""

from __future__ import annotations

import importlib
import inspect
import json
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any

import click
import pytest

import viva
from tests.viva.real_suites import viva as command_line
from tests.viva.real_suites import write_agent, write_cases
from viva.api.journals import begin_or_resume
from viva.cases import find_case, load_case
from viva.cli.options import resumed_request
from viva.errors import PlanError, SetupError
from viva.exam.option_declaration import MAY_CHANGE, OPTION
from viva.exam.options import Options
from viva.exam.resources import DEFAULT_AGENT
from viva.journal.writer import Journal, run_id
from viva.suites.request import KINDS, Command, JournalsRequest, RecordingsRequest, Request, SuiteRequest
from viva.suites.resuming.planned import not_begun
from viva.suites.resuming.signature import SIGNATURE, signed
from viva.suites.resuming.stored_request import FILE, holds_request, load_request, request_to_resume, save_request

RESUMING: tuple[Command, ...] = ("suite", "judge", "replay", "trace")
REQUESTS: dict[str, Request] = {
    "suite": SuiteRequest(command="suite", paths=("echo",), agents=("a",)),
    "judge": JournalsRequest(command="judge", references=(("/nowhere", None),), sizes=(-1,)),
    "replay": JournalsRequest(command="replay", references=(("/nowhere", None),), sizes=(-1,)),
    "trace": RecordingsRequest(command="trace", recordings=("chat:x",)),
}


def test_few_options_change_no_exam() -> None:
    assert Options.may_change() == {
        "attempts",
        "cache",
        "concurrency",
        "judgings",
        "model_calls",
        "no_exchange",
        "no_states",
        "sandboxes",
    }


def test_a_model_may_be_replaced_and_neither_be_added_nor_left_out() -> None:
    assert Options.may_replace() == {"model", "examiner_model", "judge_model", "backup_model", "exam_review"}
    for name in Options.may_replace():
        none, one, two = Options(), Options(**{name: "openai:a"}), Options(**{name: "openai:b"})
        assert one.differences(two) == []
        assert none.differences(one) == one.differences(none) == [name]


def stored(folder: Path, command: str) -> Request:
    with Journal(folder) as journal:
        save_request(REQUESTS[command], journal)
    return REQUESTS[command]


def other_value(field: Field[Any]) -> Any:
    """Return a value that an option may have, and that is not its default."""
    declared = field.metadata.get(OPTION)
    if declared is not None and declared.choices:
        return next(choice for choice in declared.choices if choice != field.default)
    if isinstance(field.default, bool):
        return not field.default
    if isinstance(field.default, tuple):
        return ("other",)
    if isinstance(field.default, int | float):
        return field.default + 33
    return 33 if field.name.endswith(("_mb", "_rounds", "_seconds")) else "other"


def words_of(param: click.Parameter, field: Field[Any], folder: Path) -> list[str]:
    """Return an option with a value, as on the command line."""
    if isinstance(param, click.Option) and param.is_flag:
        return [param.opts[0]]
    if isinstance(param.type, click.Path):
        return [param.opts[0], str(folder)]
    value = other_value(field)
    return [param.opts[0], value[0] if isinstance(value, tuple) else str(value)]


def exam_params(command: str) -> Iterator[tuple[click.Parameter, Field[Any]]]:
    """Yield the options of an exam that a command offers, with their fields."""
    known = {field.name: field for field in fields(Options)}
    for param in module_of(command).params:
        if param.name in known:
            yield param, known[param.name]


def module_of(command: str) -> click.Command:
    found: click.Command = importlib.import_module(f"viva.cli.commands.{command}").command
    return found


@pytest.mark.parametrize("command", RESUMING)
def test_every_option_may_change_on_the_command_line_exactly_where_it_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    before = stored(tmp_path / "j", command)
    offered = list(exam_params(command))
    assert {field.name for _, field in offered} >= {"concurrency", "judge", "sandbox"}
    for param, field in offered:
        words = words_of(param, field, tmp_path)
        with module_of(command).make_context(command, ["--resume", "j", *words]) as context:
            values = {name: context.params[name] for name in context.params}
            if not field.metadata.get(MAY_CHANGE):
                with pytest.raises(SystemExit):
                    resumed_request(tmp_path / "j", KINDS[command], command, values)
                continue
            _, resumed = resumed_request(tmp_path / "j", KINDS[command], command, values)
        assert getattr(resumed.options, field.name) == other_value(field)
        assert resumed == replace(before, options=resumed.options)


@pytest.mark.parametrize("command", RESUMING)
@pytest.mark.parametrize("field", fields(Options), ids=lambda field: str(field.name))
def test_every_option_may_change_in_python_exactly_where_it_is_marked(
    tmp_path: Path, command: str, field: Field[Any]
) -> None:
    before = stored(tmp_path / "j", command)
    asked = replace(before, options=replace(before.options, **{field.name: other_value(field)}))
    if field.metadata.get(MAY_CHANGE):
        assert begin_or_resume(tmp_path / "j", asked, resume=True) == (asked, True)
    else:
        with pytest.raises(SetupError, match=rf"differs in options \({field.name}\)"):
            begin_or_resume(tmp_path / "j", asked, resume=True)


def test_parameters_besides_the_options_get_one_answer_from_all_commands_and_from_python() -> None:
    answers: dict[str, set[bool]] = defaultdict(set)
    for command in RESUMING:
        for param in module_of(command).params:
            # `viva replay` has more options, for printing, which nobody resumes.
            if param.name and not (command == "replay" and param.name in ("threshold", "names", "trials", "agents")):
                answers[param.name].add(type(param).__name__ == "CallOption" or param.name in Options.may_change())
    assert {name for name, given in answers.items() if len(given) > 1} == set()
    told = {name for kind in set(KINDS.values()) for field in fields(kind) if (name := field.name) != "options"}
    # `--compare` chooses what the report of any call compares with; what is imported for it is chosen once.
    assert {name for name in told & answers.keys() if answers[name] == {True}} == {"compared"}
    for function in (viva.run_suite, viva.judge):
        python = {
            name for name, each in inspect.signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY
        }
        kept = {name for name in python & answers.keys() if answers[name] == {False}}
        assert kept <= {"trials", "until", "margin", "vary", "names", "tags", "evaluators", "out", "rubric"}
        assert {"engine", "retry_errors", "sinks"} <= python - kept


def test_another_limit_of_sandboxes_is_no_other_call(write_desk: Callable[[], Path]) -> None:
    desk = write_desk()
    run = viva.examine(find_case("echo"), "example:careful", sandbox="process", out=desk / "run")
    judged = viva.judge(run, sandbox="process", sandboxes=2, out=desk / "judged", resume=True)
    again = viva.judge(run, sandbox="process", sandboxes=3, judgings=1, model_calls=9, out=judged.folder, resume=True)
    assert (judged.ended, again.ended) == (1, 0)
    with pytest.raises(SetupError, match=r"differs in options \(check_seconds\)"):
        viva.judge(run, sandbox="process", check_seconds=9, out=judged.folder, resume=True)


@pytest.fixture
def write_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    monkeypatch.chdir(tmp_path)
    return lambda: tmp_path


@pytest.mark.parametrize("command", ["run", *RESUMING])
def test_a_request_is_read_as_it_was_saved(tmp_path: Path, command: str) -> None:
    case = load_case(find_case("echo"))
    request = {**REQUESTS, "run": SuiteRequest(command="run", paths=("echo",), cases=(("echo", case.hash),))}[command]
    request = replace(request, folder="/somewhere", options=Options(evaluators=("a", "b.py:C"), check_seconds=1.5))
    with Journal(tmp_path) as journal:
        save_request(request, journal)
        with pytest.raises(SetupError, match=f"is already in use: resume it \\(viva {command} --resume"):
            save_request(request, journal)
    assert load_request(tmp_path) == request
    assert request_to_resume(tmp_path, KINDS[command], "suite" if command == "run" else request.command) == request


@pytest.mark.parametrize("content", [b'{"command": "dance"}', b'{"command": []}', b'{"command": "judge"}', b"[]", b"{"])
def test_a_request_that_cannot_be_read_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert holds_request(tmp_path)
    with pytest.raises(SetupError, match=r"request\.json cannot be read"):
        load_request(tmp_path)


def test_the_request_of_a_suite_with_very_many_cases_is_read_again(tmp_path: Path) -> None:
    names = tuple((f"orders-of-a-customer[{number:07}]", f"{number:064x}") for number in range(200_000))
    request = SuiteRequest(command="suite", paths=("orders",), cases=names, planned=len(names))
    with Journal(tmp_path) as journal:
        save_request(request, journal)
    assert (tmp_path / FILE).stat().st_size > 16 * 1024 * 1024
    assert load_request(tmp_path) == request
    assert not_begun(tmp_path, request, [run_id(names[7][0], DEFAULT_AGENT), "another"]) == len(names) - 1


MANY = tuple(f"{number}" for number in range(4_000))
OF_A_STRANGER: dict[str, dict[str, Any]] = {
    "personas and strategies": {"options": Options(personas=MANY, strategies=MANY)},
    "settings": {"agents": ("x" * 1_000_000,), "vary": [f"v{number}={','.join(MANY[:10])}" for number in range(9)]},
    "values of a setting": {"vary": [f"v={','.join(MANY * 5)}"]},
    "a long agent": {"agents": ("x" * 1_000_000,), "trials": 100_000, "planned": 100_000},
    "long settings": {"agents": ("x" * 1_000_000,), "vary": [f"v={','.join(MANY[:1_000])}"], "planned": 1_000},
}


@pytest.mark.parametrize("kind", OF_A_STRANGER)
def test_what_a_strangers_request_names_is_not_multiplied_out(tmp_path: Path, kind: str) -> None:
    given = {"planned": 7, **OF_A_STRANGER[kind]}
    vary = tuple(given.pop("vary", ()))
    request = SuiteRequest(command="suite", paths=("x",), cases=(("x", "0" * 64),), vary=vary, **given)
    tracemalloc.start()
    try:
        began = time.process_time()
        assert not_begun(tmp_path, request, ["another"]) == given["planned"] - 1
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
        assert time.process_time() - began < 5
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("," * 17_000_000, "has about 17,000,[0-9]{3} values, more than the 5,592,405 that Viva reads back"),
        ("x" * 257 * 1024 * 1024, "takes 258 MiB, more than the 256 MiB that Viva reads back"),
    ],
    ids=["values", "size"],
)
def test_a_request_that_could_not_be_read_again_is_refused_before_the_first_run(
    tmp_path: Path, name: str, why: str
) -> None:
    request = SuiteRequest(command="suite", paths=("x",), cases=((name, "0" * 64),))
    with (
        Journal(tmp_path) as journal,
        pytest.raises(PlanError, match=f"asked to do {why} from a journal. Divide it into several suites"),
    ):
        save_request(request, journal)
    assert not holds_request(tmp_path)


def made_older(journal: Path) -> None:
    """Rewrite the request of a journal as older versions stored it."""
    data = json.loads((journal / FILE).read_text())
    del data[SIGNATURE]
    name = "sources.json"
    if data["command"] in ("suite", "run"):
        name = "suite.json"
        if data.pop("command") == "run":
            data["single"] = True
    (journal / name).write_bytes(signed(json.dumps(data).encode()))
    (journal / FILE).unlink()


def test_a_journal_of_an_older_version_is_resumed_with_its_own_signature(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    process = ("--sandbox", "process")
    (tmp_path / "said.json").write_text('[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]')
    for command in (
        ("run", cases / "count_0", "--agent", agent, *process, "--out", "run", "--quiet"),
        ("suite", cases, "--agent", agent, *process, "--out", "suite", "--quiet"),
        ("judge", "suite", *process, "--out", "judge", "--quiet"),
        ("replay", "suite", "--against", agent, *process, "--out", "replay"),
        ("trace", "chat:said.json", "--out", "trace", "--quiet"),
    ):
        done = command_line(*command, cwd=tmp_path)
        assert done.returncode in (0, 3), done.stderr
        made_older(tmp_path / str(command[0]))
    for name in RESUMING:
        done = command_line(name, "--resume", name, cwd=tmp_path)
        assert done.returncode in (0, 3), done.stderr
        assert not (tmp_path / name / FILE).exists()
    again = ("run", cases / "count_0", "--agent", agent, *process, "--quiet", "--out")
    assert command_line(*again, "run", cwd=tmp_path).returncode == 0
    for name, words in (("suite", "the journal of a suite"), ("judge", "made by another command")):
        done = command_line(*again, name, cwd=tmp_path)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
