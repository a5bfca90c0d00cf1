"""Wraps agents of the OpenAI Agents SDK: the conversation is the list of items, and the steps come from its hooks."""

from __future__ import annotations

import importlib
from typing import Any

from .approval import is_yes, question
from .openai_steps import note_unheard, watcher
from .vocabulary import Reply
from .wrapper import FrameworkAgent, as_text, parsed, usage_of


class OpenAIAgent(FrameworkAgent):
    """One conversation, which begins with one agent and goes on with the one that it was handed over to."""

    def begin(self, target: Any) -> None:
        self.agent = target
        self.history: list[Any] = []
        self.waiting: Any = None
        """The state of a run that waits for the user's approval."""
        self.context = {
            "task_description": self.task_description,
            "app_dir": self.app_dir,
            "config_var": self.config_var,
            "workspace": self.workspace,
        }

    async def answer(self, message: str) -> Reply:
        runner = importlib.import_module("agents").Runner
        watch = watcher(self.steps)
        self.context["workspace"] = self.workspace
        if self.waiting is None:
            asked: Any = [*self.history, {"role": "user", "content": message}]
            result = await runner.run(self.agent, asked, context=self.context, hooks=watch)
        else:
            state, self.waiting = self.waiting, None
            for item in state.get_interruptions():
                if is_yes(message):
                    state.approve(item)
                else:
                    state.reject(item)
            result = await runner.run(self.agent, state, hooks=watch)
        note_unheard(self.steps, watch, result.new_items)
        used = result.context_wrapper.usage
        usage = usage_of(used.input_tokens, used.output_tokens)
        if interruptions := getattr(result, "interruptions", None):
            self.waiting = result.to_state()
            return Reply("\n\n".join(question(str(item.name), parsed(item.arguments)) for item in interruptions))
        self.history = result.to_input_list()
        self.agent = result.last_agent
        return Reply(as_text(result.final_output), usage=usage)
