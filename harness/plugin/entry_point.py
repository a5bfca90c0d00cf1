"""The pytest plugin's options. Everything behind them is imported only where `--viva-agent` is given."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOMS = ("adapters", "cases", "examiner", "judge", "records", "sandbox")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of an exam, as `viva run` has them."""
    group = parser.getgroup("viva", "examine an AI agent: case folders are test items (Viva)")
    group.addoption(
        "--viva-agent",
        metavar="SPEC",
        help="Collect case folders and examine this agent: package.module:Class, path/to/file.py:Class, either with "
        "@/path/to/venv behind it, http(s)://host/v1#model, or example:NAME.",
    )
    group.addoption("--viva-examiner", metavar="KIND", help="script or model (default: model if one is given).")
    group.addoption("--viva-judge", choices=("code", "model", "both"), help="Who judges points with eval_code.")
    group.addoption("--viva-model", metavar="NAME", help="Model for examiner and judge: openai:NAME, or a file.")
    group.addoption("--viva-examiner-model", metavar="NAME", help="Model for the examiner alone.")
    group.addoption("--viva-judge-model", metavar="NAME", help="Model for the judge alone.")
    group.addoption(
        "--viva-sandbox",
        choices=("auto", "docker", "bwrap", "process"),
        default="auto",
        help="Where eval_code runs (default: the strongest there is).",
    )
    group.addoption(
        "--viva-threshold",
        type=_share,
        default=1.0,
        metavar="SCORE",
        help="Score (its low bound) from which an item passes (default: 1.0).",
    )
    group.addoption("--viva-trials", type=_count, default=1, metavar="N", help="Exams for each case (default: 1).")
    group.addoption("--viva-out", metavar="FOLDER", help="The journal's folder (default: a new one under runs/).")
    group.addoption("--viva-isolate", action="store_true", help="Run the agent in a process of its own.")
    group.addoption("--viva-max-rounds", type=_count, metavar="N", help="Examiner messages at most.")
    group.addoption(
        "--viva-reply-timeout",
        type=_seconds,
        metavar="SECONDS",
        help="Longest wait for one reply (default: 300).",
    )
    group.addoption("--viva-app-dir", metavar="FOLDER", help="Replaces the cases' app_dir.")
    group.addoption("--viva-allow-pre-command", action="store_true", help="Let cases run their pre_command here.")


def pytest_configure(config: pytest.Config) -> None:
    """Set the exams up, if there are to be any.

    Raises:
        pytest.UsageError: a folder of the user's hides a room of Viva's.
    """
    if not config.getoption("viva_agent"):
        return
    home = Path(__file__).resolve().parents[2]
    for room in ROOMS:
        found = importlib.util.find_spec(room)
        if found is None or found.origin is None or Path(found.origin).resolve().parent.parent != home:
            where = found.origin if found else "nowhere"
            raise pytest.UsageError(
                f"viva: Python finds the package {room!r} in {where}, in front of Viva's own. Start `pytest`, not "
                "`python -m pytest`; else take the __init__.py out of that folder, or add --import-mode=importlib."
            )
    from harness.plugin.exams import Exams

    config.pluginmanager.register(Exams(config), "viva-exams")


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


# argparse names the type in its error message.
_share.__name__, _count.__name__, _seconds.__name__ = "number from 0 to 1", "whole number above 0", "number above 0"
