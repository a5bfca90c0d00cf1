"""An agent that speaks to Viva through the door itself: only an answer to what was asked is taken, and no excuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records
from viva.records.run_record import Outcome

HEAD = """
    def raw(self, body):
        import gc
        worker = next(o for o in gc.get_objects() if type(o).__name__ == 'Worker' and hasattr(o, 'descriptor'))
        os.write(worker.descriptor, len(body).to_bytes(4, 'big') + body)
    def frame(self, **answer):
        import json
        self.raw(json.dumps(answer).encode())
"""
FORGED = {
    "a set-up mistake": "self.frame(n=3, setup={'broken': 'ModuleNotFoundError', 'text': 'x'})",
    "another question's answer": "self.frame(n=3, workspace='/')",
    "an answer before the question": "self.frame(n=9, text='Hello.')",
    "a number that is none": "self.frame(n=True, text='Hello.')",
    "a number as text": "self.frame(n='3', text='Hello.')",
    "a workspace that is no path": "self.frame(n=3, workspace=True)",
    "a list": "self.raw(b'[]')",
    "millions of values": "self.frame(n=3, reply={'text': 'a', 'steps': [0] * 2_000_000})",
    "deep values": "self.raw(b'[' * 4000)",
}


@pytest.mark.parametrize("what", list(FORGED))
def test_a_forged_frame_is_the_agents_failure_and_never_an_excuse(desk: Desk, what: str) -> None:
    agent = desk.agent(
        HEAD
        + f"""
    def get_reply_from_agent(self, message):
        {FORGED[what]}
        time.sleep(1)
        return 'Hello.'
"""
    )
    case = desk.case(scoring_points=[point("assert 'no' not in str(rounds[0]['agent'][:2])")])
    record = desk.run(case, "--agent", agent, "--isolate", "--reply-timeout", "20")
    assert record["outcome"] == "target_error", record
    assert record["low"] == 0.0


@pytest.mark.parametrize("excuse", ["import no_such_module", "raise SystemExit(3)", "x = (", "import os; os._exit(7)"])
def test_a_module_that_breaks_in_a_later_exam_only_fails_it(desk: Desk, excuse: str) -> None:
    """It is sound when Viva looks at it, and the first exam has that process. A thread keeps it from being forked."""
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    file = desk.folder / "agent.py"
    count = "from pathlib import Path; p = Path('n'); p.write_text((p.read_text() if p.exists() else '') + '.')"
    thread = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    file.write_text(f"{count}\nif len(p.read_text()) > 1:\n    exec({excuse!r})\n{thread}\n{file.read_text()}")
    for number in range(3):
        desk.case(f"cases_{number}")
    paths = [f"cases_{number}" for number in range(3)]
    desk.viva(
        "suite", *paths, "--agent", agent, "--isolate", "--concurrency", "1", "--sandbox", "process", "--out", "j"
    )
    outcomes = [record.outcome for record in read_records(Path(desk.folder / "j"))]
    assert outcomes == [Outcome.SCORED, Outcome.TARGET_ERROR, Outcome.TARGET_ERROR]
