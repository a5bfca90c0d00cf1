"""Shell completion, as click offers it: commands, options, bundled cases; paths are left to the shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment

ASK = """\
. ./complete.bash 2>/dev/null
COMP_WORDS=(viva {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ echo "shell: $*"; }}
_viva_completion viva "${{COMP_WORDS[COMP_CWORD]}}" ""
echo "${{COMPREPLY[@]}}"
"""


def environment() -> dict[str, str]:
    return {**clean_environment(), "PATH": f"{Path(VIVA).parent}:/usr/bin:/bin"}


@pytest.fixture(scope="module")
def script() -> str:
    """What bash is to load."""
    asked = {**environment(), "_VIVA_COMPLETE": "bash_source"}
    return subprocess.run([VIVA], env=asked, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("su", "suite"),
        ("run --exam", "--examiner --examiner-model"),
        ("cases ch", "check"),
        ("run sum", "sum_1_to_50"),
        ("run ./", "shell: -o default"),
        ("report runs/", "shell: -o default"),
        ("replay runs/", "shell: -o default"),
        ("cases check ex", "shell: -o default"),
        ("pau", "pause"),
        ("suite --wa", "--watch"),
        ("report --wh", "--where"),
        ("report --where sc", "score"),
        ("report --where status=f", "status=failed"),
        ("requeue --outcome tar", "target_error"),
    ],
)
def test_bash_completes(desk: Desk, script: str, words: str, completed: str) -> None:
    (desk.folder / "complete.bash").write_text(script)
    done = subprocess.run(
        ["bash", "-c", ASK.format(words=words)], cwd=desk.folder, env=environment(), capture_output=True, text=True
    )
    assert completed in " ".join(done.stdout.split()), done.stderr
