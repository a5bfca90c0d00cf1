"""A small browser agent: it works a to-do list in a real headless Chromium, and shows a screenshot of each step.

It stands for an agent of your own. What matters here is what it returns: a `Reply` whose steps say what was seen,
thought and done, each with the screenshot on which the control that it used is outlined, and the picture at the end.
"""

from __future__ import annotations

import re
from pathlib import Path

from chromium import Chromium

from viva.adapters import VirtualUser
from viva.records import Reply, Step, StepKind

PAGE = Path(__file__).parent / "todo_list.html"
OUTLINE = "document.querySelector(arguments[0]).style.outline = arguments[1] ? '4px solid #d6311f' : ''"
LISTED = "return Array.from(document.querySelectorAll('li'), (item) => item.innerText.trim())"
SEEN = "return document.body.innerText.trim().replace(/\\n+/g, ' | ')"


class BrowserAgent(VirtualUser):
    """Puts on the list what the message quotes, ticks off what it is told to, and saves."""

    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self._browser = Chromium()
        self._browser.go(PAGE)
        self._steps: list[Step] = []

    def get_reply_from_agent(self, message):
        self._steps = []
        put, _, tick = message.partition("tick off")
        for words in re.findall(r"'([^']+)'", put):
            self._act("type", "#what", words, thought=f"{words!r} belongs on the list: I type it into the field.")
            self._act("click", "#add", thought="The Add button puts it on the list.")
        for words in re.findall(r"'([^']+)'", tick):
            place = self._browser.run(LISTED).index(words) + 1
            self._act("click", f"#item-{place}", thought=f"The box in front of {words!r} ticks it off.")
        if "save" in message.lower():
            self._act("click", "#save", thought="All is as it was asked for, so the list can be saved.")
        return Reply(self._browser.run(SEEN), tuple(self._steps), images=(self._picture("end.png"),))

    def _act(self, what, selector, words=None, *, thought):
        number = len(self._steps) + 1
        seen = self._browser.run(SEEN)
        self._browser.run(OUTLINE, selector, True)
        picture = self._picture(f"step{number}.png")
        self._browser.run(OUTLINE, selector, False)
        error = None
        try:
            self._browser.click(selector) if what == "click" else self._browser.type(selector, words)
        except RuntimeError as fault:
            error = str(fault)
        self._steps.append(
            Step(
                f"{number}",
                StepKind.ACTION,
                agent="BrowserAgent",
                observation=seen,
                thought=thought,
                tool=what,
                tool_input={"selector": selector} | ({"text": words} if words else {}),
                result=None if error else self._browser.run(SEEN),
                error=error,
                images=(picture,),
                attributes={"application": "Chromium", "image_roles": ["selected_controls"]},
            )
        )

    def _picture(self, name):
        (self.workspace / name).write_bytes(self._browser.screenshot())
        return name

    def close(self):
        self._browser.close()
