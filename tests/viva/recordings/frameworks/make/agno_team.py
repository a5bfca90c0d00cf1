"""Records a team of Agno by OpenInference's instrumentation: the leader hands the question to a member."""

from __future__ import annotations

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.team import Team
from openinference.instrumentation.agno import AgnoInstrumentor

from tests.viva.recordings.frameworks.make.script import (
    MODEL,
    TOOLS,
    Nested,
    Script,
    Task,
    Turn,
    convert,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
AgnoInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("Agno", versions("agno"), versions("openinference-instrumentation-agno"))
INNER = Task("Weather in Rome?", (Turn("", (("get_weather", {"city": "Rome"}),)), Turn("25 degrees.")))
TOOLS["delegate_task_to_member"] = lambda member_id, task: "25 degrees."
asked = {"member_id": "expert", "task": INNER.question}
OUTER = Task(
    "Ask the expert for the weather in Rome.",
    (Turn("The expert knows.", (("delegate_task_to_member", asked),)), Turn("25 degrees, says the expert.")),
)

with model_server(script) as url:
    model = OpenAILike(id=MODEL, base_url=url, api_key="none")
    expert = Agent(name="expert", role="knows the weather", model=model, tools=[get_weather, convert])
    team = Team(name="asker", members=[expert], model=model)
    team.run(script.play_nested(Nested(OUTER, INNER, ("asker", "expert"))))
script.write_truth(folder)
