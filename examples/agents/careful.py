"""The bundled careful agent: small, without a model, and able to pass every bundled case."""

import csv
import random
import re
import statistics

from viva.adapters import Reply, Step, VirtualUser


class CarefulAgent(VirtualUser):
    """Understands a few requests, and says so when it does not understand one."""

    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.total = 0
        self.number = None
        self.csv_file = None

    def get_reply_from_agent(self, message):
        if self.csv_file:
            return self.mean(message)
        if match := re.search(r"add (?:the number )?(-?\d+) to the (?:total )?sum", message, re.I):
            self.total += int(match[1])
            return f"The total sum is now {self.total}."
        if match := re.search(r"say (?:the word )?['\"]?(\w+)['\"]? back", message, re.I):
            return match[1]
        if match := re.search(r"generate .*random .*named '([\w.]+)'", message, re.I):
            self.number = random.randint(1, 1000)
            return self.save(match[1])
        if match := re.search(r"previously generated .*named '([\w.]+)'", message, re.I):
            return self.save(match[1])
        if "joke" in message.lower():
            return "Why did the examiner cross the road? To ask the same question on the other side."
        if "weather" in message.lower():
            return "It is sunny in New York today."
        if match := re.search(r"mean of a column (?:in|of) (?:the file )?'?(\w+\.csv)", message, re.I):
            self.csv_file = match[1]
            return f"Which column of {self.csv_file} do you mean?"
        return "I am sorry, I do not understand that."

    def save(self, name):
        text = str(self.number)
        (self.workspace / name).write_text(text)
        # Reported as a step, so that a judge who sees no files can see what was done.
        step = Step(f"save-{name}", tool="write_file", tool_input={"path": name, "text": text}, result="saved")
        return Reply("Done.", steps=(step,))

    def mean(self, message):
        with (self.workspace / self.csv_file).open(newline="") as file:
            rows = list(csv.DictReader(file))
        column = next((name for name in rows[0] if name in message), None)
        if column is None:
            return f"There is no such column; there are {', '.join(rows[0])}. Which one?"
        return f"The mean of {column} is {statistics.mean(float(row[column]) for row in rows)}."
