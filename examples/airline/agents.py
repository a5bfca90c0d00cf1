"""The airline agent in three versions. Its tools become steps, which checks and the judge see."""

from airline import Airline

from viva import Reply, Step


class Careful(Airline):
    def get_reply_from_agent(self, message):
        text = self.reply(message)
        return Reply(text, tuple(Step(each["tool"], tool=each["tool"], tool_input=each["args"]) for each in self.steps))


class Forgetful(Careful):
    def __init__(self):
        super().__init__("forgetful")


class Hasty(Careful):
    def __init__(self):
        super().__init__("hasty")
