"""Ten things that a newcomer looks for, in words of their own, and where they are."""

from __future__ import annotations

TEN_THINGS = {
    "money": "how-do-i.html#limit-what-a-suite-costs-budget-money-too-expensive",
    "virtual environment": "agents-in-a-process-of-their-own.html",
    "github actions": "ci.html#github-actions",
    "killed": "how-do-i.html#resume-a-suite-that-was-killed-or-after-a-crash",
    "import promptfoo": "import-cases.html#promptfoo",
    "judge wrong": "how-do-i.html#know-whether-the-judge-is-wrong-agreement-with-people-accuracy",
    "check file": "how-do-i.html#check-a-file-that-the-agent-wrote-or-created",
    "chat logs": "how-do-i.html#score-conversations-from-production-or-old-chat-logs",
    "simulate user": "how-do-i.html#simulate-a-user-with-a-character-and-things-they-know",
    "slack": "how-do-i.html#get-a-message-or-an-alert-in-slack",
}
"""Query, and the place that has to be among the first three results."""
