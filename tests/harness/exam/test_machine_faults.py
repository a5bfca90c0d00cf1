"""What Viva's machine lacks is not the agent's failure; what an agent only claims to lack is."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import pytest

from adapters import machine
from adapters.errors import AgentError, MachineError
from adapters.machine import check_machine
from tests.harness.conftest import Desk

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


@pytest.mark.parametrize("when", ["__init__(self, task_description)", "get_reply_from_agent(self, message)"])
def test_an_agent_that_meets_vivas_limit_of_descriptors_is_not_charged(desk: Desk, when: str) -> None:
    agent = desk.agent(f"""
        def get_reply_from_agent(self, message): return 'Hello.'
        def {when}:
            self.files = []
            while True:
                self.files.append(open(os.devnull))
    """)
    record = desk.run(desk.case(), "--agent", agent, "--attempts", "1", expect=3, out="journal", process=True)
    assert record["outcome"] == "infra_error"
    assert "file descriptors" in record["error"]


def limited(soft: int, hard: int) -> dict[str, object]:
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))}


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
