"""The texts that `viva init` writes."""

from __future__ import annotations

ADAPTER = '''"""The agent under test, as Viva talks to it. `viva docs write-an-adapter` has everything else."""

from viva import VirtualUser


class {name}(VirtualUser):
    """One object serves one conversation."""

    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.messages = []

    def get_reply_from_agent(self, message):
        """Send one message to the agent and return its reply."""
        self.messages.append(message)
        return f"You said: {{message}}"  # yours: ask your agent, and return what it answers

    def close(self):
        """Release what the agent holds."""
'''
ADAPTER_TEST = '''"""Examines {name} with a bundled case: `pytest {test}`."""

import viva

{imports}
def test_it_can_be_examined(tmp_path):
    # The sandbox `process` does not isolate the checks of a case; those of the bundled cases are safe.
    run = viva.examine("echo", {agent}, out=tmp_path / "exam", sandbox="process")
    assert run.outcome == "scored", run.record.error
    assert all(round_.agent for round_ in run.transcript.rounds)
'''
CASE = """version: 0.1
task_description: {task}
# The messages of an exam without a model. Without `script`, a model examines: viva run … --model NAME.
script:
  - {task}
  - Please give me only the result.
scoring_points:
  - score_point: The agent answers every message.
    check: {{regex: '\\S', over: all}}
  - check:
      contains: {expected}
      over: any_round
    weight: 2
"""
PROJECT = """\
# Suites by name: `viva suite {name}`. Every option of `viva suite` is a key; `viva docs viva-yaml` explains them.
suites:
  {name}:
    cases: {cases}
    agent: {agent}
    fail_under: 0.9
"""
WORKFLOW = """\
name: exams
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  exams:
    runs-on: ubuntu-latest # has Docker, in which checks run
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: pip install "vivavoce @ git+https://github.com/OWNER/viva@COMMIT" # yours: where Viva comes from
      - run: viva sandbox build
      - run: viva suite {name} --trust
"""
