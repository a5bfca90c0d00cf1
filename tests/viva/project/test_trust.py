"""A stranger's folder cannot run anything by its `viva.yaml`: what it names is asked for, once for each content."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import click
import pytest

from tests.viva.conftest import Desk
from viva.cli.project.used_file import ask_for_trust, read_found
from viva.errors import SetupError
from viva.project import finding
from viva.project.finding import find_file, read_file
from viva.project.reading import Project
from viva.project.trust import digest_of, is_trusted, trust

HARMLESS = "cases: echo, agent: 'example:careful', sandbox: bwrap"
AGENT = """\
from pathlib import Path
from viva import VirtualUser

Path("was_imported").touch()


class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return message
"""


@pytest.fixture
def stranger(desk: Desk) -> Desk:
    """A folder whose suite imports an agent that leaves a mark."""
    (desk.folder / "mine.py").write_text(AGENT)
    (desk.folder / "viva.yaml").write_text(
        "suites:\n  exams: {cases: echo, agent: 'mine.py:Agent', sandbox: process}\n"
    )
    return desk


def was_imported(desk: Desk) -> bool:
    return (desk.folder / "was_imported").exists()


def project_in(folder: Path) -> Project:
    return read_found(read_file(folder / "viva.yaml"))


def test_nothing_runs_before_the_file_is_trusted(stranger: Desk) -> None:
    done = stranger.viva("suite", "exams", expect=2)
    assert "runs the code of mine.py:Agent; runs the eval_code of its cases without a sandbox" in done.stderr
    assert f"viva trust {stranger.folder}/viva.yaml" in done.stderr
    assert "--trust" in done.stderr
    assert not was_imported(stranger)
    assert not (stranger.folder / "runs").exists()


def test_a_trusted_file_runs_until_it_changes(stranger: Desk) -> None:
    shown = stranger.viva("trust", expect=0).stdout
    assert "  runs the code of mine.py:Agent\n" in shown
    assert not was_imported(stranger)
    stranger.viva("suite", "exams", "--quiet", expect=0)
    assert was_imported(stranger)
    assert "trusted already" in stranger.viva("trust", expect=0).stdout
    file = stranger.folder / "viva.yaml"
    before = file.read_text()
    file.write_text(before + "# changed\n")
    assert "is not trusted" in stranger.viva("suite", "exams", expect=2).stderr
    file.write_text(before)
    stranger.viva("suite", "exams", "--quiet", expect=0)
    stranger.viva("trust", "--forget", expect=0)
    assert "is not trusted" in stranger.viva("suite", "exams", expect=2).stderr


def test_trust_for_one_call_is_not_remembered(stranger: Desk) -> None:
    stranger.viva("suite", "exams", "--trust", "--quiet", expect=0)
    assert was_imported(stranger)
    assert "is not trusted" in stranger.viva("suite", "exams", expect=2).stderr


def test_what_the_user_types_needs_no_trust(stranger: Desk) -> None:
    typed = ("--agent", "example:careful", "--sandbox", "bwrap")
    stranger.viva("suite", "exams", *typed, "--quiet", expect=0)
    assert not was_imported(stranger)


def test_the_defaults_of_viva_run_are_asked_for_too(stranger: Desk) -> None:
    (stranger.folder / "viva.yaml").write_text("run: {agent: 'mine.py:Agent'}\n")
    assert "is not trusted" in stranger.viva("run", "echo", "--sandbox", "process", expect=2).stderr
    stranger.viva("run", "echo", "--sandbox", "process", "--agent", "example:careful", "--quiet", expect=0)
    assert not was_imported(stranger)


def test_the_same_content_in_another_folder_is_not_trusted(
    stranger: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger.viva("trust", expect=0)
    other = Desk(tmp_path_factory.mktemp("other"))
    for name in ("viva.yaml", "mine.py"):
        shutil.copy(stranger.folder / name, other.folder / name)
    assert "is not trusted" in other.viva("suite", "exams", expect=2).stderr
    assert not was_imported(other)


def test_a_link_to_a_trusted_file_is_not_used(stranger: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    stranger.viva("trust", expect=0)
    other = Desk(tmp_path_factory.mktemp("other"))
    (other.folder / "viva.yaml").symlink_to(stranger.folder / "viva.yaml")
    (other.folder / "mine.py").write_text(AGENT)
    assert "it is a link" in other.viva("suite", "exams", expect=2).stderr
    assert not was_imported(other)


def test_a_changed_agent_file_or_model_file_is_asked_for_again(desk: Desk) -> None:
    (desk.folder / "viva.yaml").write_text("suites: {exams: {cases: echo, agent: agent.yaml, model: model.json}}")
    digests = [digest_of(project_in(desk.folder))]
    for name in ("agent.yaml", "model.json"):
        for text in ("a", "b"):
            (desk.folder / name).write_text(text)
            digests.append(digest_of(project_in(desk.folder)))
    assert len(set(digests)) == len(digests)


def test_an_agent_file_with_settings_that_is_rewritten_is_asked_for_again(desk: Desk) -> None:
    (desk.folder / "viva.yaml").write_text(
        "suites: {exams: {cases: echo, sandbox: bwrap, agent: 'bot.yaml[close_seconds=1]'}}"
    )
    (desk.folder / "bot.yaml").write_text("connector: cmd\ncommand: cat\n")
    desk.viva("trust", expect=0)
    assert "trusted already" in desk.viva("trust", expect=0).stdout
    (desk.folder / "bot.yaml").write_text("connector: cmd\ncommand: touch was_imported\n")
    assert "is not trusted" in desk.viva("suite", "exams", expect=2).stderr
    assert not was_imported(desk)


def test_a_setting_that_the_file_varies_is_asked_for_where_the_user_types_the_agent(desk: Desk) -> None:
    """A key of an agent file can be a setting, also the command."""
    (desk.folder / "viva.yaml").write_text(
        "suites: {exams: {cases: echo, sandbox: bwrap, vary: ['command=touch was_imported,cat']}}"
    )
    (desk.folder / "bot.yaml").write_text("connector: cmd\ncommand: cat\n")
    done = desk.viva("suite", "exams", "--agent", "bot.yaml", expect=2)
    assert "sets command of its agents to touch was_imported, cat" in done.stderr
    assert not was_imported(desk)


def test_what_was_shown_is_what_is_trusted(desk: Desk) -> None:
    """The settings that a file names may change while the user reads what it would run."""
    (desk.folder / "viva.yaml").write_text("suites: {exams: {cases: echo, agent: agent.yaml}}")
    (desk.folder / "agent.yaml").write_text("connector: cmd")
    project = project_in(desk.folder)
    shown = digest_of(project)
    (desk.folder / "agent.yaml").write_text("connector: acp")
    with pytest.raises(SetupError, match="has just changed"):
        trust(project, shown)
    assert not is_trusted(shown)


def test_what_was_read_is_what_runs_however_the_file_changes(stranger: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read once: another content that takes its place in the meantime is neither trusted nor used."""
    monkeypatch.chdir(stranger.folder)
    file = stranger.folder / "viva.yaml"
    project = project_in(stranger.folder)

    def replaced(*_: object, **__: object) -> bool:
        file.write_text("suites: {exams: {cases: echo, agent: 'worse.py:Agent'}}")
        return True

    answered(monkeypatch, replaced)
    ask_for_trust(project)
    assert project.suites["exams"].values["agents"] == ("mine.py:Agent",)
    assert is_trusted(digest_of(project))
    assert not is_trusted(digest_of(project_in(stranger.folder)))


def answered(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Let the user sit at a terminal, and answer."""
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", answer)


@pytest.mark.parametrize("yes", [True, False])
def test_a_user_at_a_terminal_is_asked_once(yes: bool, stranger: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(question: str, **_: object) -> bool:
        asked.append(question)
        return yes

    answered(monkeypatch, answer)
    project = project_in(stranger.folder)
    if yes:
        ask_for_trust(project)
        ask_for_trust(project)
    else:
        with pytest.raises(SetupError, match="nothing was run"):
            ask_for_trust(project)
    assert len(asked) == 1
    assert is_trusted(digest_of(project)) is yes


def test_a_record_of_trust_that_the_user_did_not_sign_is_worth_nothing(stranger: Desk) -> None:
    stranger.viva("trust", expect=0)
    digest = digest_of(project_in(stranger.folder))
    record = Path(os.environ["XDG_STATE_HOME"], "viva", "trusted", f"{digest}.json")
    record.write_text(record.read_text().replace('"trusted": ', '"trusted": 1'))
    assert not is_trusted(digest)


def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every `viva.yaml` belong to somebody else."""
    real = finding.read_file
    monkeypatch.setattr(finding, "read_file", lambda path: replace(real(path), owner=54321))


def test_a_file_of_another_user_is_not_read_silently(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.folder / "viva.yaml").write_text(f"suites:\n  exams: {{{HARMLESS}}}\nrun: {{quiet: true}}\n")
    below = Desk(desk.folder / "below")
    below.folder.mkdir()
    desk.viva("suite", "exams", "--quiet", expect=0)
    foreign(monkeypatch)
    for each in (desk, below):
        done = each.viva("suite", "exams", expect=2)
        assert "is not trusted" in done.stderr
        assert "It belongs to 54321." in done.stderr
    done = below.viva("run", "echo", "--sandbox", "bwrap", expect=0)
    assert f"not used: {desk.folder}/viva.yaml is not trusted" in done.stderr
    assert "task" in done.stdout or len(done.stdout.splitlines()) > 1, "quiet comes from the stranger's file"
    # A folder is a folder, whatever lies above it.
    below.viva("suite", "echo", "--sandbox", "bwrap", "--quiet", expect=0)
    desk.viva("suite", "exams", "--trust", "--quiet", expect=0)


def test_a_file_of_the_administrator_is_no_strangers() -> None:
    found = find_file(Path("/"))
    assert found is None or not found.is_strangers
    assert not finding.FoundFile(Path("/x"), b"", 0).is_strangers
    assert finding.FoundFile(Path("/x"), b"", 54321).is_strangers
    assert not finding.FoundFile(Path("/x"), b"", os.geteuid()).is_strangers


@pytest.mark.parametrize("value", ["--trust", "--sandbox=process", "--agent=mine.py:Agent", "-h", "echo --trust"])
def test_a_value_that_looks_like_an_option_is_a_value(value: str, stranger: Desk) -> None:
    text = f"suites:\n  exams: {{cases: ['{value}'], agent: 'example:careful', sandbox: bwrap, tag: ['{value}']}}\n"
    (stranger.folder / "viva.yaml").write_text(text)
    done = stranger.viva("suite", "exams", expect=2)
    assert value in done.stderr
    assert "there is no such" in done.stderr
    assert not was_imported(stranger)


def test_a_list_and_help_load_nothing(stranger: Desk) -> None:
    assert "exams" in stranger.viva("suite", "--list", expect=0).stdout
    stranger.viva("suite", "--help", expect=0)
    assert not was_imported(stranger)
