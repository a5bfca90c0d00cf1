"""Conducts the conversation with the agent under test. It knows the task, never the scoring points."""

from examiner.conversation import ConversationLimits, Examiner, ExaminerError, converse
from examiner.replayed import ReplayedExaminer
from examiner.scripted import ScriptedExaminer

__all__ = ["ConversationLimits", "Examiner", "ExaminerError", "ReplayedExaminer", "ScriptedExaminer", "converse"]
