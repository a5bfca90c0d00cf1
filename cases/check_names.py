"""The names that are defined when an `eval_code` begins; `sandbox/inside/conversation.py` defines them."""

from __future__ import annotations

CHECK_NAMES = ("chat_history", "rounds", "json", "load", "SystemMessage", "HumanMessage", "AIMessage")
