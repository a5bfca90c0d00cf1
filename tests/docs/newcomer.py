"""What newcomers typed into the search before they had seen any page, and where their answers are."""

from __future__ import annotations

BEGINNINGS = {
    "cost limit": "Limit what a suite costs",
    "go agent stdin": "Connect an agent in another language",
    "resume interrupted run": "Resume or continue an interrupted run or suite",
    "significant difference models": "Compare two models, prompts or versions of an agent",
    "fail pull request": "Fail the build or pull request if the quality drops",
    "check output file": "Check an output file that the agent wrote or created",
    "inter-rater agreement": "Have two people grade the same answers",
    "langsmith traces": "Grade traces from LangSmith, Langfuse, MLflow, Phoenix or OpenTelemetry",
    "impatient customer": "Simulate a user or customer with a persona",
    "find failing turn": "Find the message where a conversation went wrong",
    "cache judge": "Avoid paying again for unchanged questions",
    "compare temperature prompts": "Try several temperatures, system prompts or models",
    "live results browser": "See, watch results live in the browser while a suite runs",
    "agent crash score": "Know whether a crash of the agent counts",
    "local model": "Use a local model, such as Ollama, vLLM or llama.cpp",
    "distributed run": "Run in parallel or on several, multiple machines",
    "early stopping": "Stop as soon as the result is certain",
    "slack notification": "Get a message, notification or alert in Slack when it gets worse",
    "import excel dataset": "Import or test many questions from Excel, a spreadsheet or CSV",
    "data leak test": "Attack my agent: does it leak data when pushed",
    "grade existing conversations": "Score or grade existing conversations, old chat logs, transcripts from production",
    "multiple judges vote": "Have several or multiple judges vote",
    "stop early when one agent is clearly better": "Stop as soon as the result is certain",
    "test an agent written in Go or Rust": "Connect an agent in another language",
    "evaluate OpenTelemetry traces without running the agent": "Grade traces from LangSmith",
    "which message did the conversation go wrong": "Find the message where a conversation went wrong",
    "human labels agreement with the judge": "Know whether the judge is wrong",
    "use a local model instead of OpenAI": "Use a local model",
    "maximum cost": "Limit what a suite costs",
    "difficult user": "Simulate a user or customer with a persona",
    "block merge": "Fail the build or pull request if the quality drops",
    "how do I compare two prompts?": "Compare two models, prompts",
    "judge prompt": "See the judge's prompt: view what exactly the judge was asked and answered",
}
"""Query, and how the heading on the page "How do I …?" begins."""
ELSEWHERE = {
    "langgraph integration": "agents/langgraph.html",
    "virtual environment": "agents-in-a-process-of-their-own.html",
    "github actions": "ci.html#github-actions",
    "import promptfoo": "import-cases.html#promptfoo",
}
"""Query, and the place."""
