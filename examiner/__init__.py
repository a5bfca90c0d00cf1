"""Conducts the conversation with the agent under test. It knows the task, never the scoring points."""

from viva.examiner.conversation import ConversationLimits, converse
from viva.examiner.examiner import Examiner, ExaminerError
from viva.examiner.replayed import ReplayedExaminer
from viva.examiner.scripted import ScriptedExaminer

__all__ = ["ConversationLimits", "Examiner", "ExaminerError", "ReplayedExaminer", "ScriptedExaminer", "converse"]
