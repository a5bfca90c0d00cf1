"""Words that every part of the harness uses: counts with their nouns, and who judged a run and where its checks ran."""

from __future__ import annotations

from records.run_record import Setting
from records.text import one_line

UNSAFE = "does NOT isolate"


def judge_words(setting: Setting) -> str:
    """The kind of judge, with the model's name where there is one."""
    model = f" ({one_line(setting.judge_model, 60)})" if setting.judge_model else ""
    return one_line(setting.judge, 20) + model


def sandbox_words(setting: Setting) -> str:
    """The sandbox, and whether it is one; empty where no check ran."""
    if not setting.sandbox:
        return ""
    weak = "" if setting.sandbox_isolates in (True, None) else f" ({UNSAFE})"
    return one_line(setting.sandbox, 30) + weak


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`; an `s` makes the plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
