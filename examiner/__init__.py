"""Holds the conversation with the agent under test. Knows the task, never the scoring points."""

from examiner.conversation import Examiner, ExaminerError, Limits, converse
from examiner.replayed import ReplayedExaminer
from examiner.scripted import ScriptedExaminer

__all__ = ["Examiner", "ExaminerError", "Limits", "ReplayedExaminer", "ScriptedExaminer", "converse"]
