"""Shell completion, as click offers it: commands, options, bundled cases; paths are left to the shell."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment
from tests.warm.typed import typed_programs
from viva.cli.group import COMMANDS, viva

ASK = """\
. ./complete.bash 2>/dev/null
COMP_WORDS=(viva {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ echo "shell: $*"; }}
_viva_completion viva "${{COMP_WORDS[COMP_CWORD]}}" ""
echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Has `viva` on the path."""
    folder = tmp_path_factory.mktemp("bin")
    with typed_programs(VIVA) as programs:
        (folder / "viva").write_text(programs["viva"])
        (folder / "viva").chmod(0o755)
        yield {**clean_environment(), "PATH": f"{folder}:/usr/bin:/bin"}


@pytest.fixture(scope="module")
def script(environment: dict[str, str]) -> str:
    """What bash is to load."""
    asked = {**environment, "_VIVA_COMPLETE": "bash_source"}
    return subprocess.run([VIVA], env=asked, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("su", "suite"),
        ("run --exam", "--examiner --examiner-model"),
        ("cases ch", "check"),
        ("run sum", "sum_1_to_50"),
        ("run ./", "shell: -o default"),
        ("report runs/", "shell: -o default"),
        ("replay runs/", "shell: -o default"),
        ("cases check ex", "shell: -o default"),
        ("pau", "pause"),
        ("suite --wa", "--watch"),
        ("report --wh", "--where"),
        ("report --where sc", "score"),
        ("report --where status=f", "status=failed"),
        ("requeue --outcome tar", "target_error"),
        ("import rows.csv --format tau", "tau2"),
        ("import rows.csv --map exp", "expected="),
        ("export cases --to pyd", "pydantic-evals"),
    ],
)
def test_bash_completes(desk: Desk, environment: dict[str, str], script: str, words: str, completed: str) -> None:
    (desk.folder / "complete.bash").write_text(script)
    done = subprocess.run(
        ["bash", "-c", ASK.format(words=words)], cwd=desk.folder, env=environment, capture_output=True, text=True
    )
    assert completed in " ".join(done.stdout.split()), done.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("suite ex", ["exams", "ex"]),  # the second one is left to the shell: paths
        ("suite --tag s", ["slow", "smoke"]),
        ("suite exams --persona imp", ["impatient"]),
        ("suite exams --agent example:care", ["example:careful"]),
        ("suite exams --baseline runs/2", ["runs/20261123-b", "runs/20261122-a"]),
        ("suite exams --failed-in runs/20261122", ["runs/20261122-a"]),
        ("suite exams --where su", ["suite"]),
        ("report --where status=pa", ["status=passed"]),
        ("report --where score<1\\ and\\ sta", ["score<1 and status", "score<1 and started"]),
        ("report --format jun", ["junit"]),
        ("judge --evaluators scoring_points,ex", ["scoring_points,exam"]),
        ("compare runs/20261123", ["runs/20261123-b"]),
        ("status runs/20261123", ["runs/20261123-b"]),
        ("pause runs/20261123", ["runs/20261123-b"]),
        ("resume runs/20261123", ["runs/20261123-b"]),
        ("requeue runs/20261123", ["runs/20261123-b"]),
        ("mcp --fo", ["--folder"]),
        ("docs assis", ["assistant"]),
        ("run --examiner m", ["model"]),
        ("run --agent my_", ["my_"]),
    ],
)
def test_names_of_suites_journals_fields_and_parts_are_completed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: str, completed: list[str]
) -> None:
    monkeypatch.chdir(desk.folder)
    for name in ("20261122-a", "20261123-b", "no-journal"):
        (desk.folder / "runs" / name).mkdir(parents=True)
        if name != "no-journal":
            (desk.folder / "runs" / name / "journal.jsonl").touch()
    (desk.folder / "viva.yaml").write_text("suites: {exams: {cases: echo, tag: [smoke, slow]}, other: {cases: echo}}")
    *before, last = shlex.split(words)
    found = ShellComplete(viva, {}, "viva", "_VIVA_COMPLETE").get_completions(before, last)
    assert [item.value for item in found] == completed


def test_each_option_that_takes_a_journal_or_a_path_completes_it() -> None:
    group = click.Context(viva, resilient_parsing=True)
    for name in COMMANDS:
        command = viva.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name)
        for each in command.params:
            if each.metavar in ("JOURNAL", "FILE", "FOLDER", "SPEC", "[JOURNAL]..."):
                assert each.shell_complete(context, "no-such-thing"), (name, each.name)
