"""What the pages promise is there: commands, options, cases, adapters, links, fields, variables."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
import yaml

import viva as viva_package
from tests.viva.viva_command import run_python
from viva.adapters.connectors.agent_file import read_agent_file
from viva.adapters.connectors.table import file_connector, load_agent
from viva.cases import Case, CaseError, load_case, load_cases, load_rubric
from viva.cases.field_readers import case_keys
from viva.cases.points.reader import POINT_KEYS
from viva.cases.script import SCRIPT_KEYS
from viva.cli.group import viva
from viva.cli.init.texts import WORKFLOW as SHORT_WORKFLOW
from viva.cli.project.used_file import read_found
from viva.exam.judging.references import load_references
from viva.exam.option_declaration import Part
from viva.exam.options import Options
from viva.interchange import import_cases
from viva.journal.writer import Damage, parse
from viva.judge.calibration.sets import load_set
from viva.project.finding import read_file
from viva.pytest_plugin.options import OPTIONS, name_of
from viva.recordings.desktop.names import load_names
from viva.recordings.given_tools import load_tools
from viva.records.codec import decode
from viva.records.exchange.exchanges import KeptExchanges
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, Step, StepKind, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Verdict

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WORKFLOW = ROOT / "examples" / "ci" / "github-actions.yml"
PACKAGES = ("adapters", "cases", "examiner", "judge", "sandbox", "viva")
PYTHON = "python.md"
PROGRAMS = {PYTHON: "my_agent.py", "observe.md": "my_session.py"}
"""Pages whose Python is programs that are run, not adapters that are loaded; and the module that they import."""
EVENTS = {
    "setting": Setting,
    "round": Round,
    "transcript": Transcript,
    "insight": Insight,
    "exchange": KeptExchanges,
    "run": RunRecord,
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def location(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The file that the block's first line names: `# my_agent.py`."""
        named = re.match(r"# ([\w./-]+)\n", self.text)
        assert named, f"{self.location}: the first line must say which file this is (`# my_agent.py`)"
        return named[1]


def blocks(*languages: str) -> list[Block]:
    """All fenced blocks in these languages."""
    found = []
    for page in PAGES:
        text = page.read_text()
        fences = re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found += [
            Block(page, text[: fence.start()].count("\n") + 1, fence[1], fence[2])
            for fence in fences
            if fence[1] in languages
        ]
    return found


def named(found: list[Block]) -> list[object]:
    return [pytest.param(block, id=block.location) for block in found]


def commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a shell script as words; what is redirected, piped or substituted is left out."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        words: list[str] = []
        redirected = False
        for word in lexer:
            if set(word) <= set("|&;"):
                yield words
                words, redirected = [], False
            elif set(word) <= set("<>"):
                redirected = True
            elif not redirected and not (not words and re.match(r"\w+=", word)):
                words.append(word)
        yield words


def typed(block: Block) -> list[list[str]]:
    """The commands that a reader is told to type."""
    text = block.text.replace("\\\n", " ")
    lines = (
        text.splitlines() if block.language == "sh" else [line[2:] for line in text.splitlines() if line[:2] == "$ "]
    )
    return [words for words in commands("\n".join(lines)) if words]


def check_viva(arguments: list[str], location: str) -> None:
    """Parse a command line as click does, subcommands and types included, and run nothing."""
    group: click.Command = viva
    context = None
    try:
        while True:
            context = group.make_context(arguments[0] if context else "viva", list(arguments[1:]), parent=context)
            if not isinstance(group, click.Group):
                return
            rest = [*context._protected_args, *context.args]
            if not rest and group.invoke_without_command:
                return
            _, found, rest = group.resolve_command(context, rest)
            assert found is not None
            group, arguments = found, [found.name or "", *rest]
    except click.exceptions.Exit:
        return
    except click.ClickException as error:
        pytest.fail(f"{location}: {shlex.join(arguments)}: {error.format_message()}")


def check_pytest(arguments: list[str], location: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "--viva-sandbox=process", "--version", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{location}: {done.stderr}"


def check_make(arguments: list[str], location: str) -> None:
    done = subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{location}: {done.stderr}"


CHECKS = {"viva": check_viva, ".venv/bin/viva": check_viva, "pytest": check_pytest, "make": check_make}


@pytest.mark.parametrize("block", named(blocks("console", "sh")))
def test_commands_have_these_options(block: Block) -> None:
    for words in typed(block):
        if words[0] in CHECKS:
            CHECKS[words[0]]([words[0], *words[1:]] if "viva" in words[0] else words[1:], block.location)


def test_a_command_with_an_option_that_is_not_there_is_found() -> None:
    for line in (
        "viva run echo --agnt x",
        "viva suit cases/",
        "viva cases chek x",
        "viva run",
        "viva run echo --judge god",
    ):
        with pytest.raises(pytest.fail.Exception):
            check_viva(line.split(), "here")
    check_viva(shlex.split("viva suite cases/ --trials 3 --agent a.py:A"), "here")


@pytest.mark.parametrize("block", named(blocks("yaml")))
def test_yaml_blocks_are_sound(block: Block, tmp_path: Path) -> None:
    name = block.file
    if block.page.name == "desktop-sessions.md":
        file = tmp_path / name
        file.write_text(block.text)
        assert load_names(file).agent == yaml.safe_load(block.text)["agent"]
        return
    if name == "tools.yaml":
        (tmp_path / name).write_text(block.text)
        defined = [tool["function"]["name"] for tool in load_tools(str(tmp_path / name))]
        assert defined == list(yaml.safe_load(block.text))
        return
    if name == "reference.yaml":
        (tmp_path / name).write_text(block.text)
        assert list(load_references(str(tmp_path / name)).by_subject) == list(yaml.safe_load(block.text))
        return
    if name == "viva.yaml":
        (tmp_path / name).write_text(block.text)
        assert read_found(read_file(tmp_path / name)).suites.keys() == yaml.safe_load(block.text)["suites"].keys()
        return
    if name.startswith(".github/"):
        assert block.text.partition("\n")[2] == SHORT_WORKFLOW.format(name="exams")
        return
    if name == "promptfooconfig.yaml":
        (tmp_path / name).write_text(block.text)
        assert import_cases(tmp_path / name, tmp_path / "out").cases
        return
    if name == "rubric.yaml":
        (tmp_path / name).write_text(block.text)
        assert len(load_rubric(tmp_path / name).papers) == 1 + len(yaml.safe_load(block.text)["for_each"])
        return
    if name == "labelled.yaml":
        (tmp_path / name).write_text(block.text)
        assert [item.id for item in load_set(tmp_path / name).items] == [
            item["id"] for item in yaml.safe_load(block.text)
        ]
        return
    if "cases" in yaml.safe_load(block.text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block.text)
        assert len(load_cases(tmp_path / name)) == 2
        return
    if "connector" in yaml.safe_load(block.text):
        for own in (other for other in blocks("py") if other.page == block.page):
            (tmp_path / own.file).write_text(own.text)
        (tmp_path / name).write_text(block.text)
        found = read_agent_file(str(tmp_path / name))
        assert found.checked(file_connector(found)[1].keys).folder == tmp_path
        return
    if not name.endswith("/case.yaml"):
        from viva.models.factory import make_model

        file = tmp_path / Path(name).name
        file.write_text(block.text)
        assert make_model(str(file)).name == yaml.safe_load(block.text)["config"]["model"]
        return
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(block.text)
    for data in yaml.safe_load(block.text).get("data_files", ()):
        (file.parent / data).touch()
    for server in yaml.safe_load(block.text).get("mcp", ()):
        for data in (server["module"], *server["files"]):
            (file.parent / data).touch()
    assert load_case(file.parent).name == Path(name).parent.name


OWN_TESTS = ("desktop-sessions.md", "extend.md", "sandbox.md", *PROGRAMS)
"""Pages whose Python is no adapter: they have tests of their own, or show part of a check."""


@pytest.mark.parametrize("block", named([each for each in blocks("python") if each.page.name not in OWN_TESTS]))
def test_adapters_can_be_loaded(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    if "from taskweaver." in block.text:
        package = tmp_path / "taskweaver" / "app"
        package.mkdir(parents=True)
        (package / "app.py").write_text("class TaskWeaverApp:\n    pass\n")
    file = tmp_path / Path(block.file).name
    file.write_text(block.text)
    (name,) = re.findall(r"^(?:class (?=\w+\(VirtualUser\))|def )(\w+)", block.text, re.MULTILINE)
    assert load_agent(f"{file}:{name}").name == name
    for module in [module for module in sys.modules if module.split(".")[0] == "taskweaver"]:
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize(("name", "imported"), PROGRAMS.items())
def test_the_programs_of_the_page_print_what_it_shows(name: str, imported: str, tmp_path: Path) -> None:
    written: set[str] = set()
    page = [block for block in blocks("python", "console") if block.page.name == name]
    for block in page:
        if block.language == "python":
            (tmp_path / block.file).write_text(block.text)
            written.add(block.file)
    shown = [block for block in page if block.language == "console"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    # Checks run in the next best sandbox, so that this needs no image.
    environment["DOCKER_HOST"] = f"unix://{tmp_path}/no-daemon"
    for block in shown:
        for command, output in re.findall(r"^\$ python (\S+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            done = run_python(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{block.location}: {done.stderr}"
            assert done.stdout == output, block.location
            written.discard(command)
    assert written == {imported}, "a program whose output the page does not show"


def test_every_public_name_is_on_the_page() -> None:
    text = (ROOT / "docs" / PYTHON).read_text()
    assert {name for name in viva_package.__all__ if not re.search(rf"\b{name}\b", text)} == set()


def test_every_option_is_on_the_page_as_a_keyword() -> None:
    shown = words_of(PYTHON, "## Options")
    assert Options.names() - {"agent"} - shown == set()
    assert {option.flag for _, option in Options.declared(*Part)} - shown == set()


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_place_in_the_table_of_the_proposal_is_there() -> None:
    table = (ROOT / "docs" / "observe.md").read_text().split("## Every name of the proposal")[1]
    rows = [
        [cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines() if row.startswith("|")
    ][2:]
    assert len(rows) > 20
    for row in rows:
        for place in re.findall(r"`([\w/]+(?:/|\.py))`", row[-1]):
            assert (ROOT / place).exists(), place
        for name in re.findall(r"`viva\.(\w+)`", row[1]):
            assert name in {*viva_package.__all__, "evals"}, name


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    for named in re.findall(r"`(tests/[\w/]+(?:/|\.py))`", page.read_text()):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in slugs(file), f"{page.name}: {target}"


@pytest.mark.parametrize("block", named([block for block in blocks("json") if block.page.name == "formats.md"]))
def test_lines_of_a_journal_are_as_the_page_shows_them(block: Block) -> None:
    for line in block.text.encode().splitlines():
        damage = Damage()
        event = parse(line, 1, damage)
        assert event is not None
        assert damage.torn == damage.unknown == 0
        decode(EVENTS[event.kind], event.data)
        assert json.loads(line).keys() == {"v", "event", "run", "attempt", "data"}
        known = {field.name for field in dataclasses.fields(EVENTS[event.kind])}
        assert event.data.keys() <= known


def words_of(page: str, heading: str | None = None) -> set[str]:
    """The words in code type on a page, or below one of its headings."""
    text = (ROOT / "docs" / page).read_text()
    if heading is not None:
        level = heading.split(" ")[0]
        text = text.split(f"\n{heading}\n")[1].split(f"\n{level} ")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[,;=()\s]+", span)}


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [
        ("### setting", [Setting]),
        ("### round", [Round, Step, Usage]),
        ("### transcript", [Transcript]),
        ("### insight", [Insight, Verdict, Evidence]),
        ("### run", [RunRecord, Timing]),
    ],
)
def test_every_field_of_a_record_is_on_the_page(heading: str, kinds: list[type]) -> None:
    shown = words_of("formats.md", heading)
    fields = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    assert fields - shown == set()


def test_every_value_of_an_enumeration_is_on_the_page() -> None:
    shown = words_of("formats.md")
    assert {str(value) for kind in (Outcome, StopReason, StepKind) for value in kind} - shown == set()


def test_every_key_of_a_case_is_on_its_page() -> None:
    assert {*case_keys(Case), *POINT_KEYS, *(key for key in SCRIPT_KEYS)} - words_of("write-a-case.md") <= {"for"}
    assert "`for: n in 1..50`" in (ROOT / "docs" / "write-a-case.md").read_text()


def test_every_environment_variable_is_on_the_page() -> None:
    ours = re.compile(r"\b(?:VIVA|OPENAI)_[A-Z]+(?:_[A-Z]+)*\b")
    used = {
        name
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        for name in ours.findall(file.read_text())
    }
    inner = {"VIVA_CHILD", "VIVA_VERSION"}  # set by Viva for its own processes, or for its own builds
    assert used - inner - words_of("formats.md", "## Environment variables") == set()


FAULTY = """\
version: 0.1
task_descripton: Order a pizza.
max_rounds: 0
data_files: [menu.cvs]
dependencies: [pandas = 2]
scoring_points:
  - score_point: 9
    weight: -1
  - score_point: The agent names the price.
    weight: 1
    eval_code: |-
      return "9" in rounds[-1]["agent"]
script:
  - for: n in 1-5
    say: Pizza {n}, please.
  - if_agent_says: "(size"
    say: Large.
"""


def test_the_mistakes_on_the_page_are_those_that_are_told(tmp_path: Path) -> None:
    (tmp_path / "menu.csv").touch()
    (tmp_path / "case.yaml").write_text(FAULTY)
    with pytest.raises(CaseError) as raised:
        load_case(tmp_path)
    page = (ROOT / "docs" / "write-a-case.md").read_text()
    for line in str(raised.value).replace(f"{tmp_path}/", "").splitlines():
        assert line in page


def steps() -> list[dict[str, str]]:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    found: list[dict[str, str]] = job["steps"]
    return found


def test_the_workflow_is_complete() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    scripts = "\n".join(step.get("run", "") for step in steps())
    for needed in ("viva suite", "--fail-under", "--baseline", 'markdown >> "$GITHUB_STEP_SUMMARY"', "junit", "html"):
        assert needed in scripts
    uses = [step["uses"] for step in steps() if "uses" in step]
    assert any(name.startswith("actions/cache/restore@") for name in uses)
    assert any(name.startswith("actions/cache/save@") for name in uses)
    assert any(name.startswith("actions/upload-artifact@") for name in uses)


def test_the_commands_of_the_workflow_have_these_options() -> None:
    seen = []
    for step in steps():
        script = step.get("run", "")
        assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
        gate = re.search(r"gate=\((--.*?)\)", script)
        script = script.replace('"${gate[@]}"', gate[1] if gate else "").replace("gate=()", "")
        for words in commands(script):
            if "viva" in words and words[0] in ("viva", "then"):
                call = words[words.index("viva") :]
                check_viva(call, WORKFLOW.name)
                seen.append(" ".join(call[:2]))
    assert seen == [
        "viva doctor",
        "viva sandbox",
        "viva cases",
        "viva suite",
        "viva report",
        "viva report",
        "viva report",
        "viva view",
        "viva compare",
    ]


def test_the_options_of_the_pytest_plugin_in_the_pages_are_there() -> None:
    assert [entry.value for entry in entry_points(group="pytest11") if entry.name == "viva"]
    plugin = (ROOT / "viva" / "pytest_plugin" / "entry_point.py").read_text()
    declared = {name_of(option) for _, option in Options.declared(*OPTIONS)}
    for page in PAGES:
        for option in re.findall(r"--viva-[a-z-]*[a-z]", page.read_text()):
            assert option in declared or f'"{option}"' in plugin, f"{page.name}: {option}"


@pytest.mark.parametrize("page", ["strangers.md", "sandbox.md"])
def test_the_tests_that_a_page_names_exist(page: str) -> None:
    """A row that says which test carries out an attack is worth as much as that test."""
    text = (ROOT / "docs" / page).read_text()
    named = re.findall(r"`(tests/[\w./-]+)(?:::(\w+))?`", text)
    assert named
    for path, function in named:
        assert (ROOT / path).exists(), f"docs/{page} names {path}"
        if function:
            found = re.search(rf"^\s*(?:async )?def {function}\(", (ROOT / path).read_text(), re.MULTILINE)
            assert found, f"docs/{page} names {path}::{function}"


def test_each_attack_on_agents_judges_and_neighbours_names_a_test() -> None:
    rows = [line for line in (ROOT / "docs" / "strangers.md").read_text().splitlines() if line.startswith("| ")]
    without = [row for row in rows if "`tests/" not in row and not row.startswith("| attack |")]
    assert without == []
