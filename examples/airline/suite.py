"""The job in Python: `python suite.py` ends with 1 if an agent stays below the gate."""

import json
import sys
from pathlib import Path

from agents import Careful, Forgetful, Hasty

import viva


def case_of(row):
    points = [{"check": row["does"]}, {"check": {"contains": row["says"], "over": "any_round"}}, row["judge"]]
    return viva.Case(row["id"], task_description=row["task"], script=row["script"], scoring_points=points)


rows = (Path(__file__).parent / "cases" / "rows.jsonl").read_text().splitlines()
cases = [case_of(json.loads(row)) for row in rows]
result = viva.run_suite(cases, [Careful, Forgetful, Hasty], judge_model="openai:gpt-4o-mini")
for agent in result.figures.agents:
    print(f"{agent.name}: {agent.mean:.2f}, {agent.passes} of {agent.runs} passed")
sys.exit(any(agent.low < 0.8 for agent in result.figures.agents))
