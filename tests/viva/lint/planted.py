"""Cases with one planted defect each, and the same cases without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Planted:
    """A defect: the sound case, what it is changed to, and what the lint must say of it."""

    name: str
    sound: str
    change: tuple[str, str]
    kind: str
    point: int | None
    words: str
    """Words of the message."""

    def write(self, folder: Path, *, planted: bool) -> Path:
        """Write the case, with or without its defect; return its file."""
        before, after = self.change
        assert self.sound.count(before) == 1, self.name
        file = folder / self.name / "case.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(self.sound.replace(before, after) if planted else self.sound)
        (file.parent / "menu.csv").write_text("dish,price\nMargherita,9\nFunghi,11\n")
        return file


ORDER = """\
task_description: |-
  Order a Margherita and then a Funghi from the menu in menu.csv. At the end, ask for the total.
data_files: [menu.csv]
scoring_points:
  - score_point: The agent says that the total is 20.
    weight: 2
    eval_code: |-
      assert "20" in rounds[-1]["agent"], rounds[-1]["agent"]
  - score_point: The agent writes the order into order.txt.
    weight: 1
    eval_code: |-
      lines = open("order.txt").read().split()
      assert lines == ["Margherita", "Funghi"], lines
script:
  - I want a Margherita.
  - I want a Funghi, too.
  - Please tell me the total.
solution:
  - Noted, a Margherita.
  - Noted, a Funghi, too.
  - say: The total is 20.
    files: {order.txt: "Margherita\\nFunghi\\n"}
"""
WORDS = """\
task_description: |-
  Tell the agent that the parcel 4711 has not come, and that you moved to Bonn in May. Ask what it can do.
scoring_points:
  - score_point: The agent asks for the new address.
    weight: 2
  - score_point: The agent offers to send the parcel again.
    weight: 1
  - score_point: The agent never asks for a password.
    weight: 1
"""
FIND_OUT = """\
task_description: |-
  Ask the agent how many people live in Bonn. If it asks for a year, say 2020.
background: Bonn had 330579 inhabitants in 2020.
scoring_points:
  - score_point: The agent reports that the number of people in Bonn is 330579.
    weight: 1
    eval_code: |-
      assert any("330579" in one["agent"].replace(",", "") for one in rounds), rounds
"""

PLANTED = (
    Planted(
        "anybody_who_speaks",
        ORDER,
        ('assert "20" in rounds[-1]["agent"], rounds[-1]["agent"]', 'assert len(rounds[-1]["agent"]) >= 0'),
        "anybody",
        1,
        "an agent that says nothing, refuses everything or repeats each message gets this point",
    ),
    Planted(
        "echo",
        ORDER,
        ('assert "20" in rounds[-1]["agent"], rounds[-1]["agent"]', 'assert "total" in rounds[-1]["agent"]'),
        "anybody",
        1,
        "an agent that repeats each message gets this point",
    ),
    Planted(
        "nobody",
        ORDER,
        ('assert lines == ["Margherita", "Funghi"], lines', 'assert lines == ["margherita", "funghi"], lines'),
        "nobody",
        2,
        "the solution does not get this point: AssertionError: ['Margherita', 'Funghi']",
    ),
    Planted(
        "cannot_fail",
        ORDER,
        ('assert lines == ["Margherita", "Funghi"], lines', 'lines == ["Margherita", "Funghi"]'),
        "anybody",
        2,
        "eval_code discards the result of this comparison",
    ),
    Planted(
        "cut_script",
        ORDER,
        ("data_files: [menu.csv]\n", "data_files: [menu.csv]\nmax_rounds: 2\n"),
        "rounds",
        None,
        "max_rounds is 2, but the script has 3 messages: 1 is never sent",
    ),
    Planted(
        "opposites",
        WORDS,
        ("The agent offers to send the parcel again.", "The agent does not ask for the new address."),
        "contradiction",
        2,
        "this statement is the opposite of point 1",
    ),
    Planted(
        "against_the_task",
        FIND_OUT.replace(
            "If it asks", "The agent should report that the number of people in Bonn is 330579. If it asks"
        )
        + "script:\n  - How many people live in Bonn?\n",
        ("reports that the number of people in Bonn is 330579", "reports that the number of people in Bonn is 333000"),
        "contradiction",
        1,
        "this statement demands 333000, and the task says 330579 of the same",
    ),
    Planted(
        "revealed",
        FIND_OUT,
        ("If it asks for a year, say 2020.", "It is 330579."),
        "revealed",
        1,
        "an agent that repeats what the examiner knows gets this point",
    ),
    Planted(
        "unobservable",
        WORDS,
        ("The agent asks for the new address.", "The agent understands that the address has changed."),
        "unobservable",
        1,
        "no words or files of the agent decide this statement",
    ),
    Planted(
        "twice",
        ORDER,
        (
            "script:\n",
            """\
  - score_point: The agent lists the dishes in a file.
    weight: 1
    eval_code: |-
      lines = open("order.txt").read().split()
      assert lines == ["Margherita", "Funghi"], lines
script:
""",
        ),
        "duplicate",
        3,
        "the check of this point is also that of point 2",
    ),
    Planted(
        "without_weight",
        WORDS,
        ("again.\n    weight: 1\n", "again.\n    weight: 0.01\n"),
        "weight",
        2,
        "weight 0.01 is 0.33 % of the score",
    ),
    Planted(
        "late_round",
        ORDER,
        ('assert "20" in rounds[-1]["agent"], rounds[-1]["agent"]', 'assert "20" in rounds[3]["agent"]'),
        "nobody",
        1,
        "this point requires 4 rounds, and the script allows 3",
    ),
    Planted(
        "broken_check",
        ORDER,
        ('assert "20" in rounds[-1]["agent"], rounds[-1]["agent"]', 'assert "20" in rounds[-1].agent'),
        "mistake",
        1,
        "",
    ),
)
