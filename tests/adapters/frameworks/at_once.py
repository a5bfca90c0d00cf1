"""Talks to one agent in many runs at once in this process, and prints what each was told last. A test starts it.

The packages of the framework's environment come after those of this process, as if they were installed beside Viva.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session

QUESTIONS = ("one", "two", "three")


async def main(spec: str, runs: int, folder: Path) -> list[str]:
    agent = load_agent(spec)

    async def talk(number: int) -> str:
        arguments = AgentArguments("the task", workspace=folder / str(number))
        session = await open_session(agent.factory, arguments, 60, agent.home)
        replies = [await session.reply(f"{question} {number}", 60) for question in QUESTIONS]
        assert await session.close() is None
        return replies[-1].text

    return list(await asyncio.gather(*map(talk, range(runs))))


if __name__ == "__main__":
    spec, packages, runs, folder = sys.argv[1:]
    sys.path.append(packages)
    print(json.dumps(asyncio.run(main(spec, int(runs), Path(folder)))))
