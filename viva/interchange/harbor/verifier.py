"""`tests/test.sh`: a program of the source, left as a check for a person to read. Nothing of it is run here."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.harbor.folder import BYTES, TaskFolder
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

SCRIPT = "test.sh"
LONGEST = 100_000
"""Maximum number of characters of all files of a check."""
MOST_SECONDS = 600
_PLACES = re.compile(r"(?<![\w./-])/(tests|logs|app|workspace)(?=[/\s\"'`;)]|$)", re.MULTILINE)
_CODE = """\
# From {place} of the source. Read it before you run it: it runs in the sandbox, without a network.
import json, os, pathlib, subprocess, sys, tempfile
place = pathlib.Path(tempfile.mkdtemp())
for folder in ("tests", "logs/verifier", "logs/agent"):
    (place / folder).mkdir(parents=True)
files = json.loads({files})
for name, text in files.items():
    file = place / "tests" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = text.replace("@PLACE@", str(place)).replace("@WORKSPACE@", os.getcwd())
    file.write_text(text)
environment = {{**os.environ, **json.loads({variables})}}
ended = subprocess.run(["bash", str(place / "tests" / {script!r})], env=environment, capture_output=True, text=True)
rewards = place / "logs" / "verifier"
if (rewards / "reward.json").exists():
    found = json.loads((rewards / "reward.json").read_text())
    reward = found.get("reward", min(found.values())) if isinstance(found, dict) else found
elif (rewards / "reward.txt").exists():
    reward = float((rewards / "reward.txt").read_text())
else:
    raise AssertionError(f"the test left no reward: {{ended.stdout[-300:]}} {{ended.stderr[-300:]}}")
assert float(reward) >= {least}, f"reward {{reward}}: {{ended.stdout[-300:]}} {{ended.stderr[-300:]}}"
"""


def add_verifier(draft: CaseDraft, task: TaskFolder, folder: str, root: Source, step: Source | None) -> None:
    """Add the point of a task's or a step's test.

    Args:
        draft: The case.
        task: The task.
        folder: Of the step, in the task; empty for a task without steps.
        root: The settings of the task.
        step: Those of the step.
    """
    names = [name for each in dict.fromkeys(("tests", os.path.join(folder, "tests"))) for name in task.below(each)]
    files = {name: task.file(name) for name in names}
    inner = {_inside(name): file for name, file in files.items()}
    least = step.get("min_reward") if step is not None else None
    wanted = least.peek() if least is not None else 1
    variables = _settings(draft, [root.get("verifier"), step.get("verifier") if step is not None else None])
    what = f"step {os.path.basename(folder)}" if folder else "the task"
    fits = sum(len(str(file.peek())) for file in inner.values()) <= LONGEST and isinstance(wanted, int | float)
    if SCRIPT not in inner or not fits or any(file.peek() == BYTES for file in inner.values()):
        for file in inner.values():
            file.report(Gap.NEEDS_A_PERSON, "cannot be carried over into a check: write eval_code")
        draft.mark(f"The test of {what} is not in the case: write eval_code for the point that a model judges now.")
        draft.points.append(f"The agent does what {what} asks, completely.")
        return
    if least is not None:
        least.express("eval_code: the reward that is required")
    for file in inner.values():
        file.express("eval_code, with places changed to those of the sandbox")
    texts = {name: _PLACES.sub(_moved, str(file.peek())) for name, file in inner.items()}
    place = os.path.join(folder, "tests", SCRIPT)
    code = _CODE.format(place=place, files=_quoted(texts), variables=_quoted(variables), script=SCRIPT, least=wanted)
    draft.points.append({"score_point": f"The test of {what} passes ({place}).", "eval_code": code})
    draft.mark(f"Read the eval_code of {what}: it was written for the container of the source.")


def _inside(name: str) -> str:
    return name.rpartition("tests/")[2]


def _moved(match: re.Match[str]) -> str:
    return f"@PLACE@/{match[1]}" if match[1] in ("tests", "logs") else "@WORKSPACE@"


def _quoted(value: Any) -> str:
    """Return plain data as JSON in a literal of Python."""
    return repr(json.dumps(value))


def _settings(draft: CaseDraft, settings: list[Source | None]) -> dict[str, str]:
    """Return the environment variables of a test, and set the time that it may take."""
    variables: dict[str, str] = {}
    for each in settings:
        for name, value in each.items() if each is not None else ():
            given = value.peek()
            if name == "timeout_sec" and isinstance(given, int | float) and given >= 1:
                limits = draft.fields.setdefault("check_limits", {})
                limits["seconds"] = max(limits.get("seconds", 1), min(MOST_SECONDS, int(given)))
                value.express("check_limits: seconds")
            elif name == "env" and value.is_mapping:
                for key, variable in value.items():
                    if "${" in str(variable.peek()):
                        variable.report(Gap.REFUSED, "variables of this machine do not reach a sandbox")
                    else:
                        variables[key] = str(variable.express("eval_code: environment variables"))
            else:
                value.report(Gap.NO_HOME, "checks run in Viva's sandbox, without a network")
    return variables
