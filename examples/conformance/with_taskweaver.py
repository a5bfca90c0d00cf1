"""An application of TaskWeaver: `pytest --viva-conformance with_taskweaver.py:made@VENV`."""

import json
from pathlib import Path

from agent import Model
from model_over_http import serve
from taskweaver.app.app import TaskWeaverApp

PLAN = {"plan_reasoning": "", "init_plan": "", "plan": "", "current_plan_step": ""}


class Player(Model):
    """TaskWeaver's planner, and its code interpreter, which writes the files."""

    # TaskWeaver takes an empty message for none, and passes on 600 characters of a model each second at most.
    words = Model.words.replace(" empty", "").replace(" size", "")

    def answer(self, said):
        asked = said[-1]
        if "conformance: ran" in asked:  # what the code printed, with the code
            return planned("written")
        if "conformance: code " in asked:  # the code interpreter is asked, with the whole conversation so far
            file = asked.partition("conformance: code ")[2].split()[0]
            code = f"open({file!r}, 'w').write('written')\nprint('conformance: ran')"
            return response(thought="", reply_type="python", reply_content=code)
        if asked.startswith("conformance: write "):
            return planned(asked.replace("write", "code"), "InProcess", "CodeInterpreter")
        return planned(super().answer([each.removesuffix("\n") for each in said]))


def planned(message, stop="Completed", send_to="User"):
    return response(**PLAN, stop=stop, send_to=send_to, message=message)


def response(**parts):
    return json.dumps({"response": parts})


def made(workspace):
    project = Path(workspace, "project")
    for name in ("planner_examples", "code_generator_examples"):
        (project / "examples" / name).mkdir(parents=True)
    keys = {"llm.api_base": serve(Player("", workspace=workspace)), "llm.api_key": "none", "llm.model": "gpt-4"}
    return TaskWeaverApp(app_dir=str(project), config={**keys, "execution_service.kernel_mode": "local"})
