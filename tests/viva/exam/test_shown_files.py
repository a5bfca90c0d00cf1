"""The agent's files are evidence in an exam and when its journal is judged again, elsewhere and without the case."""

from __future__ import annotations

import json
from pathlib import Path

from tests.model_server import ModelServer, Request, said_by, verdict
from tests.viva.conftest import Desk
from viva.journal.reader import read_records

AGENT = """
def get_reply_from_agent(self, message):
    Path(self.workspace, "prices.csv").write_text("tea,3\\ncake,5\\n")
    Path(self.workspace, "total.txt").write_text("The total is 8.")
    return "It is done."
"""
POINTS = [{"score_point": "total.txt names the total.", "weight": 1, "shown": "file"}]


def play(request: Request) -> str:
    question = said_by("user", request)[0]
    listed = ['changed, 13 bytes: "prices.csv"' in question, 'new, 15 bytes: "total.txt"' in question]
    assert listed == [True, True], question
    return verdict("hit", "The file says so.", {"round": 0, "quote": "The total is 8."})


def test_a_run_and_its_second_judgement_rest_on_the_same_files(desk: Desk) -> None:
    case = desk.case(
        data={"prices.csv": "tea,2\ncake,5\n"}, data_files=["prices.csv"], evidence="files", scoring_points=POINTS
    )
    with ModelServer({"m": play}) as server:
        environment = {"OPENAI_API_KEY": "test-key-123456", "OPENAI_BASE_URL": server.url}
        judge = ("--judge-model", "openai:m")
        record = desk.run(case, "--agent", desk.agent(AGENT), *judge, environment=environment)
        assert record["insights"][0]["verdicts"][0]["evidence"] == [
            {"where": "file:total.txt", "quote": "The total is 8."}
        ]
        for file in (desk.folder / case).iterdir():
            file.unlink()
        done = desk.viva("judge", "journal", *judge, "--out", "again", "--json", environment=environment)
    (again,) = json.loads(done.stdout)["runs"]
    assert again["insights"][0]["verdicts"][0]["label"] == "hit"
    (stored,) = read_records(desk.folder / "again")
    assert stored.insights[0].verdicts[0].evidence[0].where == "file:total.txt"
    assert Path(desk.folder / "journal").is_dir()
