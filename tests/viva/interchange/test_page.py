"""The page on imports shows what an import of its configuration really writes."""

from __future__ import annotations

import re
from pathlib import Path

import viva

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
