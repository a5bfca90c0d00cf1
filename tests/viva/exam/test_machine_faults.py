"""What Viva's machine lacks is not the agent's failure; what an agent only claims to lack is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.adapters import machine
from viva.adapters.machine import check_machine
from viva.errors import AgentError, MachineError
from viva.journal.reader import read_records
from viva.records.run_record import Outcome

WRITES = """
    def get_reply_from_agent(self, message):
        self.workspace.mkdir(parents=True, exist_ok=True)
        (self.workspace / 'big').write_bytes(bytes(1_000))
        raise OSError({number}, os.strerror({number}))
"""


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENOMEM])
def test_an_agent_that_only_claims_that_the_machine_lacks_something_has_failed(
    desk: Desk, number: int, isolate: bool
) -> None:
    agent = desk.agent(WRITES.format(number=number))
    record = desk.run(desk.case(), "--agent", agent, *(("--isolate",) if isolate else ()))
    assert (record["outcome"], record["score"]) == ("target_error", 0.0)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        AgentError("agent.py:9: OSError: [Errno 28] No space left on device"),
    ],
    ids=repr,
)
def test_a_full_disk_is_tried_before_it_is_believed(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_machine(error, tmp_path / "not" / "made")
    full = Path("/dev/full")

    class Full:
        def __enter__(self) -> Full:
            self.file = full.open("wb", buffering=0)
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data)

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(MachineError, match="no space left on the disk"):
        check_machine(error, tmp_path / "not" / "made")
    wrapped = RuntimeError("the tool failed")
    wrapped.__cause__ = error
    with pytest.raises(MachineError):
        check_machine(wrapped, tmp_path)


def limited(soft: int, hard: int) -> dict[str, object]:
    return {"open_files": (soft, hard)}


FEW = 1024
"""Descriptors of a process that an agent uses up: many machines allow a million, which takes long to open."""

TAKES_ALL = """
        def get_reply_from_agent(self, message): return 'Hello.'
        def {when}:
            {kept} = files = []
            while True:
                files.append(os.open(os.devnull, os.O_RDONLY) if {for_good} else open(os.devnull))
"""


@pytest.mark.parametrize("kept", ["self.files", "sys.files"])
@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_agent_that_uses_up_vivas_descriptors_has_failed(desk: Desk, kept: str, for_good: bool, kind: str) -> None:
    """Also where it does not give them back: nobody else's code runs in Viva's process that could have taken them."""
    methods = TAKES_ALL.format(when="get_reply_from_agent(self, message)", kept=kept, for_good=for_good)
    agent = desk.agent(methods.replace("def get", "async def get") if kind == "async def" else methods)
    record = desk.run(desk.case(), "--agent", agent, expect=0, **limited(FEW, FEW))
    assert (record["outcome"], record["low"]) == ("target_error", 0.0), record["error"]
    assert "used up the descriptors" in record["error"]


@pytest.mark.parametrize("kept", ["self.files", "sys.files"])
def test_an_agent_whose_construction_uses_up_vivas_descriptors_cannot_be_examined(desk: Desk, kept: str) -> None:
    agent = desk.agent(TAKES_ALL.format(when="__init__(self, task_description)", kept=kept, for_good=False))
    done = desk.viva("run", desk.case(), "--agent", agent, "--out", "journal", expect=2, **limited(FEW, FEW))
    assert "used up the descriptors" in done.stderr


def test_an_agent_is_not_charged_for_descriptors_that_another_keeps(desk: Desk) -> None:
    greedy = desk.agent(TAKES_ALL.format(when="get_reply_from_agent(self, message)", kept="sys.files", for_good=True))
    opens = "def get_reply_from_agent(self, message): return open(os.devnull).read() or 'Hello.'"
    modest = desk.agent(opens, "modest")
    # No sandbox: Viva could start none.
    (desk.folder / "own.py").write_text(
        "from viva.records.verdict import Insight\nclass Own:\n    name = 'own'\n"
        "    async def evaluate(self, transcript, context): return Insight('own', context.subject, 'fine', 1.0)\n"
    )
    desk.viva(
        "suite", desk.case(), "--agent", modest, "--agent", greedy, "--trials", "2", "--concurrency", "1",
        "--attempts", "1", "--evaluators", "own.py:Own", "--out", "j", **limited(FEW, FEW),
    )  # fmt: skip
    outcomes = [(record.agent.partition(":")[0], record.outcome) for record in read_records(desk.folder / "j")]
    assert ("modest.py", Outcome.TARGET_ERROR) not in outcomes
    assert ("modest.py", Outcome.SCORED) in outcomes


def test_the_limit_of_open_files_is_raised_as_far_as_the_concurrency_takes(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    desk.viva(
        "suite", desk.case(), "--agent", agent, "--isolate", "--trials", "6", "--concurrency", "6",
        "--sandbox", "process", expect=0, **limited(60, 4096),
    )  # fmt: skip


@pytest.mark.parametrize(("concurrency", "fits"), [(50, "--concurrency 5 fits"), (1000, "--concurrency 5 fits")])
def test_a_concurrency_beyond_the_hard_limit_is_refused_with_the_number_that_fits(
    desk: Desk, concurrency: int, fits: str
) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    done = desk.viva(
        "suite", desk.case(), "--agent", agent, "--isolate", "--concurrency", str(concurrency),
        "--sandbox", "process", "--sandboxes", "2", "--out", "journal", expect=2, **limited(92, 92),
    )  # fmt: skip
    assert fits in done.stderr
    assert "ulimit -n" in done.stderr
    assert not (desk.folder / "journal").exists()
