"""An agent in Viva's own process could have changed what Viva found: every report of such a run says where it ran."""

from __future__ import annotations

import pytest

from tests.viva.conftest import Desk

FORMATS = ("console", "csv", "json", "junit", "markdown", "html")


@pytest.mark.parametrize("isolate", [False, True])
def test_every_report_names_an_agent_in_vivas_own_process_and_no_other(desk: Desk, isolate: bool) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    common = ("--agent", agent, "--sandbox", "process", *(("--isolate",) if isolate else ()))
    shown = [desk.viva("run", desk.case(), *common, "--out", "journal", expect=0).stdout]
    shown.append(desk.viva("suite", "exam", *common, expect=0).stdout)
    shown += [desk.viva("report", "journal", "--format", each, "--out", "-", expect=0).stdout for each in FORMATS]
    shown.append(desk.viva("judge", "journal", "--sandbox", "process", expect=0).stdout)
    named = ["in-process" in text or '"in_process": true' in text for text in shown]
    assert named == [not isolate] * len(shown)
