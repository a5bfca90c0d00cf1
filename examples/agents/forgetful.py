"""An agent that loses count after round 30: `sum_1_to_50` gives it 6 of 15 points."""

import re

from viva.adapters import VirtualUser


class ForgetfulAgent(VirtualUser):
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.total = 0
        self.rounds = 0

    def get_reply_from_agent(self, message):
        self.rounds += 1
        match = re.search(r"add (-?\d+)", message)
        self.total += int(match[1]) if match else 0
        if self.rounds > 30:
            self.total -= 1
        return f"The total sum is now {self.total}."
