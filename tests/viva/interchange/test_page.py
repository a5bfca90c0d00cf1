"""The page on imports shows what an import of its configuration really writes, and its commands run as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import viva
from tests.viva.conftest import Desk

PAGE = Path(__file__).resolve().parents[3] / "docs" / "import-cases.md"


def test_the_page_shows_the_case_that_its_configuration_becomes(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE.read_text(), re.S)
    (config,) = [text for name, text in blocks if name == "promptfooconfig.yaml"]
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    viva.import_cases(tmp_path / "promptfooconfig.yaml", tmp_path / "cases")
    shown = [(name, text) for name, text in blocks if name.startswith("cases/")]
    assert shown
    for name, text in shown:
        assert (tmp_path / name).read_text() == text


def test_the_commands_from_a_promptfoo_file_to_a_report_run_as_printed(desk: Desk) -> None:
    section = PAGE.read_text().partition("## From a promptfoo file")[2].partition("\n## ")[0]
    for name, text in re.findall(r"```(?:yaml|python)\n# (\w+\.\w+)\n(.*?)```", section, re.S):
        (desk.folder / name).write_text(text)
    (commands,) = re.findall(r"```console\n(.*?)```", section, re.S)
    told = ""
    for line in commands.strip().split("\n"):
        words = shlex.split(line.removeprefix("$ viva "))
        told += desk.viva(*words, expect=0).stdout
    assert "cases#price-of-a-ticket" in told
    assert "cases#luggage" in (desk.folder / "report.html").read_text()
