"""Wraps TaskWeaver's application: a session for each run, whose folder is the workspace, and whose posts are steps."""

from __future__ import annotations

from typing import Any

from .taskweaver_steps import steps_of
from .vocabulary import Reply, Usage
from .wrapper import FrameworkAgent


class TaskWeaverAgent(FrameworkAgent):
    """One session of a TaskWeaver application."""

    def begin(self, target: Any) -> None:
        self.app = target
        self.session = target.get_session()
        self.workspace = self.session.execution_cwd
        self.count = 0
        """Steps so far."""
        self.failed: Reply | None = None
        """What was done in a round that TaskWeaver ended as failed."""
        self.heard: list[str] = []
        """Errors of the present round; TaskWeaver keeps them out of the round itself."""

    def get_reply_from_agent(self, message: str) -> Reply:  # type: ignore[override]
        """Send one message, and return what the last post says, with the posts as steps."""
        self.heard.clear()
        round_ = self.session.send_message(message, event_handler=self)
        if round_.state == "failed":
            self.failed = Reply("", steps_of(list(round_.post_list), self.count), Usage(reported=False))
            raise RuntimeError(f"TaskWeaver failed: {self._why()}")
        posts = list(round_.post_list)
        steps = steps_of(posts, self.count)
        self.count += len(steps)
        # TaskWeaver does not say how many tokens its models took.
        return Reply(posts[-1].message, steps, Usage(reported=False))

    def reply_so_far(self) -> Reply | None:  # type: ignore[override]
        """Return the posts of a round that failed; one that goes on tells none."""
        return self.failed

    def handle(self, event: Any) -> None:
        """Take one event of the session, as TaskWeaver's `SessionEventHandler` does."""
        if getattr(event.t, "value", None) == "round_error":
            self.heard.append(str(event.msg))

    def close(self) -> None:
        """Stop the session; others of the same application go on."""
        self.app.session_manager.stop_session(self.session.session_id)

    def _why(self) -> str:
        if not self.heard:
            return "its log has the reason (logs/ in the project's folder)"
        # The message, a line with a blank, and the trace.
        return (
            self.heard[-1].partition(" \n ")[0].removeprefix("Cannot process your request due to Exception: ").strip()
        )


def folder_of_session(agent: Any) -> Any:
    """Return the folder of the TaskWeaver session that an adapter of the user's keeps in an attribute; None if none."""
    for value in list(getattr(agent, "__dict__", {}).values()):
        if type(value).__name__ == "Session" and type(value).__module__.startswith("taskweaver."):
            return getattr(value, "execution_cwd", None)
    return None
