"""What a case depends on is there before its first exam, or there is no exam."""

from __future__ import annotations

import json
import secrets
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point
from viva.sandbox.packages import cache_folder

NOWHERE = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
AGENT = """
    def get_reply_from_agent(self, message):
        Path("asked").touch()
        return "yes"
"""


@pytest.mark.parametrize("command", [pytest.param("run", marks=pytest.mark.soak), "suite"])
def test_a_dependency_that_cannot_be_had_is_named_with_its_case_before_the_first_exam(desk: Desk, command: str) -> None:
    desk.case("sound")
    desk.case("needy", dependencies=["viva-has-no-such-package==0.0.0.1"])
    spec = desk.agent(AGENT)
    what = ("needy",) if command == "run" else ("sound", "needy")
    arguments = ("--agent", spec, "--sandbox", "process", "--out", "journal")
    done = desk.viva(command, *what, *arguments, environment=NOWHERE, expect=2)
    assert "'needy'" in done.stderr
    assert "viva-has-no-such-package==0.0.0.1" in done.stderr
    assert not (desk.folder / "asked").exists(), "somebody was examined"
    assert not (desk.folder / "journal").exists(), "something was begun"


def test_every_mistake_among_the_dependencies_is_told_at_once(desk: Desk) -> None:
    desk.case("a", dependencies=["one @ file:///etc"])
    desk.case("b", dependencies=["two @ file:///etc"])
    desk.case("c", dependencies=["two @ file:///etc"])
    done = desk.viva("suite", "a", "b", "c", "--sandbox", "process", "--out", "journal", expect=2)
    lines = done.stderr.splitlines()
    assert [line for line in lines if "one @" in line and "the case 'a'" in line]
    assert [line for line in lines if "two @" in line and "the cases 'b', 'c'" in line]


def test_an_address_among_the_dependencies_requires_leave(desk: Desk) -> None:
    desk.case(dependencies=["viva-made-up @ http://127.0.0.1:9/viva-made-up-1.0.tar.gz"])
    command = ("run", "exam", "--sandbox", "process", "--out", "journal")
    refused = desk.viva(*command, environment=NOWHERE, expect=2)
    assert "--allow-source-dependencies" in refused.stderr
    allowed = desk.viva(*command, "--allow-source-dependencies", environment=NOWHERE, expect=2)
    assert "--allow-source-dependencies" not in allowed.stderr
    assert "cannot install" in allowed.stderr, "there is nobody at this address, but it was asked"


def test_judging_again_tells_of_a_dependency_as_an_exam_does(desk: Desk) -> None:
    desk.run(desk.case("exam"))
    stored = next((desk.folder / "journal" / "cases").glob("*.json"))
    case = json.loads(stored.read_bytes())
    stored.write_text(json.dumps({**case, "dependencies": ["viva-has-no-such-package"]}))
    again = ("judge", "journal", "--sandbox", "process", "--out", "again")
    done = desk.viva(*again, environment=NOWHERE, expect=2)
    assert "viva-has-no-such-package" in done.stderr
    assert not (desk.folder / "again").exists()


def test_what_only_the_agent_needs_is_not_put_into_the_sandbox(desk: Desk) -> None:
    desk.case(dependencies=["viva-has-no-such-package"], scoring_points=[point(None)])
    done = desk.viva("run", "exam", "--sandbox", "process", environment=NOWHERE, expect=2)
    assert "add --judge-model" in done.stderr
    assert "no-such-package" not in done.stderr


def test_a_dependency_that_can_be_had_is_there_for_the_check(desk: Desk, tmp_path: Path) -> None:
    found = {**NOWHERE, **made_up(tmp_path, "viva_made_up")}
    desk.case(dependencies=["viva-made-up"], scoring_points=[point("import viva_made_up as m; assert m.answer == 42")])
    done = desk.viva("run", "exam", "--sandbox", "process", "--out", "journal", environment=found, expect=0)
    assert "1/1" in done.stdout


def test_a_suite_goes_on_without_what_only_finished_cases_depended_on(desk: Desk, tmp_path: Path) -> None:
    name = f"viva_made_up_{secrets.token_hex(8)}"
    found = {**NOWHERE, **made_up(tmp_path, name)}
    desk.case("needy", dependencies=[name], scoring_points=[point(f"import {name}")])
    desk.case("sound")
    desk.viva("suite", "needy", "sound", "--sandbox", "process", "--out", "journal", environment=found, expect=0)
    for installed in cache_folder("site").glob(f"*/{name}.py"):
        shutil.rmtree(installed.parent)
    desk.viva("suite", "--resume", "journal", environment=NOWHERE, expect=0)
    anew = desk.viva("suite", "--resume", "journal", "--fresh", environment=NOWHERE, expect=2)
    assert name in anew.stderr


def test_what_is_judged_already_needs_nothing_any_more(desk: Desk) -> None:
    desk.run(desk.case("exam"))
    desk.viva("judge", "journal", "--sandbox", "process", "--out", "again", expect=0)
    stored = next((desk.folder / "journal" / "cases").glob("*.json"))
    stored.write_text(json.dumps({**json.loads(stored.read_bytes()), "dependencies": ["viva-has-no-such-package"]}))
    desk.viva("judge", "--resume", "again", environment=NOWHERE, expect=0)


def made_up(folder: Path, name: str) -> dict[str, str]:
    """A package that can only be had with the environment that is returned."""
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "answer = 42\n")
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return {"PIP_FIND_LINKS": str(folder), "PIP_NO_INDEX": "1"}
