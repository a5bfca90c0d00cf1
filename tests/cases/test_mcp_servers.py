"""The field `mcp` of a case: what it may say, which mistakes are reported, and what its hash covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from viva.api.given_cases import with_own_hash
from viva.cases import Case, CaseError, lint_case, load_case
from viva.cases.mcp_servers.server import McpServer
from viva.records.codec import decode, encode, loads


def folder_with(folder: Path, mcp: Any, **fields: Any) -> Path:
    points = [{"score_point": "It speaks.", "weight": 1}]
    content = {"task_description": "t", "scoring_points": points, "mcp": mcp, **fields}
    (folder / "case.yaml").write_text(yaml.safe_dump(content))
    (folder / "desk.py").write_text("pass")
    (folder / "seed").mkdir(exist_ok=True)
    (folder / "seed" / "orders.json").write_text("[]")
    return folder


WHOLE = {
    "name": "desk",
    "module": "desk.py",
    "args": ["--fast"],
    "env": ["DESK_KEY"],
    "files": ["seed"],
    "timeout": 5,
}


def test_a_server_is_read_whole_and_stored_and_read_again(tmp_path: Path) -> None:
    case = load_case(folder_with(tmp_path, [WHOLE]))
    server = McpServer(name="desk", module="desk.py", args=("--fast",), env=("DESK_KEY",), files=("seed",), timeout=5.0)
    assert case.mcp == (server,)
    assert case.own_files == ("desk.py", "seed")
    assert case.commands == ("MCP server desk (desk.py)",)
    assert decode(Case, loads(encode(case))).mcp == case.mcp
    assert with_own_hash(replace(case, hash="")).mcp == case.mcp


@pytest.mark.parametrize(
    ("mcp", "fields", "said"),
    [
        ("desk.py", {}, "mcp must be a list of 1 to 20 servers"),
        ([], {}, "mcp must be a list of 1 to 20 servers"),
        (["desk.py"], {}, "a server must be a mapping with name, and module or command"),
        ([{"module": "desk.py"}], {}, "a server needs a name"),
        ([{"name": "a b", "module": "desk.py"}], {}, "a server needs a name"),
        ([{"name": "desk"}], {}, "either module (a Python file of the case) or command"),
        ([{"name": "desk", "module": "desk.py", "command": "x"}], {}, "either module"),
        ([{"name": "desk", "modul": "desk.py"}], {}, "did you mean 'module'?"),
        ([{"name": "desk", "module": "deks.py"}], {}, "is not in the case folder; did you mean 'desk.py'?"),
        ([{"name": "desk", "module": "../desk.py"}], {}, "'../desk.py'"),
        ([{"name": "desk", "module": "/etc/passwd"}], {}, "is an absolute path"),
        ([{"name": "desk", "module": "case.yaml"}], {}, "is the case file itself"),
        ([{"name": "desk", "module": "seed"}], {}, "is not a file"),
        ([{"name": "desk", "module": "desk.py", "files": ["sed"]}], {}, "did you mean 'seed'?"),
        ([{"name": "desk", "command": "./run"}], {}, "name it in files, too"),
        ([{"name": "desk", "module": "desk.py", "args": [1]}], {}, "args must be a list of texts"),
        ([{"name": "desk", "module": "desk.py", "env": ["A=1"]}], {}, "names of environment variables, not values"),
        ([{"name": "desk", "module": "desk.py", "timeout": 0}], {}, "timeout must be a number above 0"),
        (
            [{"name": "desk", "module": "desk.py"}, {"name": "Desk", "module": "desk.py"}],
            {},
            "two servers that are called 'Desk'",
        ),
        ([WHOLE], {"config_var": {"mcp_servers": []}}, "config_var has 'mcp_servers'"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(mcp: Any, fields: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as raised:
        load_case(folder_with(tmp_path, mcp, **fields))
    assert said in str(raised.value)
    assert "case.yaml:" in str(raised.value)


def test_a_command_that_is_not_there_is_a_warning_of_cases_check(tmp_path: Path) -> None:
    servers = [{"name": "a", "command": "sh"}, {"name": "b", "command": "no-such-command"}]
    (finding,) = lint_case(load_case(folder_with(tmp_path, servers)))
    assert finding.message == "the command 'no-such-command' of the MCP server 'b' is not on this machine"
    assert finding.line is not None
    assert not finding.certain


def test_the_hash_covers_the_files_of_the_servers(tmp_path: Path) -> None:
    before = load_case(folder_with(tmp_path, [WHOLE])).hash
    (tmp_path / "desk.py").write_text("pass  # other")
    changed = load_case(tmp_path).hash
    (tmp_path / "seed" / "orders.json").write_text("[1]")
    assert len({before, changed, load_case(tmp_path).hash}) == 3
