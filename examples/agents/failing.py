"""An agent that fails in its third round; the exam ends there, and is judged up to that point."""

from viva.adapters import VirtualUser


class FailingAgent(VirtualUser):
    rounds = 0

    def get_reply_from_agent(self, message):
        self.rounds += 1
        if self.rounds == 3:
            raise RuntimeError("the tool server went away")
        return "Done."
