"""Conducts the conversation with the agent under test. It knows the task, never the scoring points."""

from viva.examiner.conversation import ConversationLimits, Examiner, ExaminerError, converse
from viva.examiner.replayed import ReplayedExaminer
from viva.examiner.scripted import ScriptedExaminer

__all__ = ["ConversationLimits", "Examiner", "ExaminerError", "ReplayedExaminer", "ScriptedExaminer", "converse"]
