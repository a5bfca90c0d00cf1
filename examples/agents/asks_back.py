"""An agent that asks a question before it answers; in an oral exam, that is as good as answering at once."""

from viva.adapters import VirtualUser


class AsksBackAgent(VirtualUser):
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.asked = False

    async def get_reply_from_agent(self, message):
        if not self.asked:
            self.asked = True
            return "Do you want to know the weather in New York?"
        return "It is sunny today."
