"""An agent that breaks in its third round; the exam ends there and is judged as it stands."""

from adapters import VirtualUser


class FailingAgent(VirtualUser):
    rounds = 0

    def get_reply_from_agent(self, message):
        self.rounds += 1
        if self.rounds == 3:
            raise RuntimeError("the tool server went away")
        return "Done."
