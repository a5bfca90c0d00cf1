"""Which commands of the pages are run, and where: every page with commands is in one of these tables."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from docs.site.outputs import FENCE, prepare
from tests.model_server import ModelServer, by_role
from tests.test_docs import ROOT, blocks, typed
from tests.viva.viva_command import in_this_process

ELSEWHERE = {
    "docs/agents": "tests/viva/agents/test_page_commands.py",
    "docs/coming-from.md": "tests/docs/test_outputs.py",
    "docs/first-suite.md": "tests/viva/cli/test_first_suite_page.py",
    "docs/gallery.md": "tests/docs/test_outputs.py",
    "docs/index.md": "tests/docs/test_outputs.py",
    "docs/labels.md": "tests/viva/cli/test_labels_page.py",
    "docs/observe.md": "tests/test_docs.py",
    "docs/python.md": "tests/test_docs.py",
}
"""Pages whose commands another test runs."""
RUN = ("README.md", "docs/ci.md", "docs/extend.md")
"""Pages whose commands of `viva` are run here, with a scripted model where they name one."""
PARSED = {
    "CONTRIBUTING.md": "the tests themselves",
    "docs/agents-in-a-process-of-their-own.md": "agents with environments",
    "docs/benchmarks.md": "takes an hour; tests/test_bench.py has what can be told without measuring",
    "docs/bisect.md": "needs versions of an agent",
    "docs/calibration.md": "asks a model hundreds of times; needs labels by people",
    "docs/cluster.md": "needs Ray and several machines",
    "docs/coding-assistants.md": "is started by another program",
    "docs/daily.md": "needs a suite in progress",
    "docs/desktop-sessions.md": "needs logs with screenshots, and a model that reads pictures",
    "docs/fair-exam.md": "needs a model that examines",
    "docs/history.md": "needs journals of several days",
    "docs/import-cases.md": "exports of platforms; its first section is run by tests/viva/interchange/test_page.py",
    "docs/models.md": "needs model servers of other projects",
    "docs/recordings.md": "needs recordings with rewards",
    "docs/suites.md": "needs a model, settings, and failed runs; tests/docs/test_outputs.py runs its like",
    "docs/telemetry.md": "needs a collector",
    "docs/trajectories.md": "needs recordings with tools, and a Phoenix server",
    "docs/viewer.md": "serves until it is stopped",
    "docs/viva-yaml.md": "asks whether the file is trusted",
    "docs/votes.md": "needs a case of the reader's",
    "docs/write-a-case.md": "needs cases of other pages; lint is run by tests/viva/lint/test_lint_command.py",
    "docs/write-an-adapter.md": "needs frameworks",
}
"""Pages whose commands are parsed by tests/test_docs.py, as all are, and not run as printed, and why. What they do has
tests of its own."""
NOT_RUN = {
    "viva trace chat:conversations.jsonl --rubric rubric.yaml --model openai:gpt-4.1-mini --out runs/recorded",
    "viva judge runs/recorded --evaluators 'brief.py:is_brief(words=30)'",
}
"""Commands of the pages in RUN that need labels or recordings."""
AGENT = (ROOT / "examples" / "agents" / "careful.py").read_text(encoding="utf-8")


def commands_of(page: str) -> list[list[str]]:
    """Return the commands of `viva` on a page."""
    found = [words for block in blocks("console", "sh") if block.page == ROOT / page for words in typed(block)]
    return [words for words in found if words[0] == "viva"]


def test_every_page_with_commands_says_which_test_runs_them() -> None:
    found = {block.page.relative_to(ROOT).as_posix() for block in blocks("console", "sh") if typed(block)}
    tables = (set(ELSEWHERE), set(RUN), set(PARSED))
    in_tables = [sum(page in table or str(Path(page).parent) in table for table in tables) for page in sorted(found)]
    assert dict(zip(sorted(found), in_tables, strict=True)) == dict.fromkeys(sorted(found), 1)
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reader's folder: agents, and journals of two suites."""
    (tmp_path / "my_agent.py").write_text(f"{AGENT}\n\nclass MyAgent(CarefulAgent):\n    pass\n", encoding="utf-8")
    return tmp_path


@pytest.mark.soak
@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run_as_printed(page: str, folder: Path) -> None:
    own = (folder / "my_agent.py").read_text(encoding="utf-8")
    prepare(ROOT / page, folder)
    (folder / "my_agent.py").write_text(own, encoding="utf-8")
    for _, _, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        if named := re.match(r"# (\w+\.py)\n", text):
            (folder / named[1]).write_text(own if named[1] == "my_agent.py" else text, encoding="utf-8")
    commands = [
        words for words in commands_of(page) if "labels.jsonl" not in words and shlex.join(words) not in NOT_RUN
    ]
    with ModelServer({"gpt-4o-mini": by_role(), "NAME": by_role()}) as server:
        here = {"DOCKER_HOST": f"unix://{folder}/no-daemon", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        written = {words[place + 1] for words in commands for place, word in enumerate(words) if word == "--out"}
        needed = {
            found for words in commands for word in words for found in re.findall(r"^runs/[\w-]+", word)
        } - written
        agents = ("--agent", "my_agent.py:MyAgent", "--agent", "example:careful", "--agent", "example:forgetful")
        for journal in sorted(needed):
            made = in_this_process("suite", "cases", *agents, "--out", journal, "--quiet", cwd=folder, environment=here)
            assert made.returncode == 0, made.stderr
        for words in commands:
            done = in_this_process(*words[1:], cwd=folder, environment=here)
            # 1: a gate was missed; 3: some runs could not be completed, such as those that a scripted model examines.
            assert done.returncode in (0, 1, 3), (words, done.stderr)
