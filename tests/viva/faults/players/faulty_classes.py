"""Agents as classes: in Viva's process, on its event loop, and in a process of their own."""

import asyncio
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples" / "conformance"))
from agent import Agent
from holding import hold, note, say, split, waits


class InProcess(Agent):
    def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
        super().__init__(task_description, app_dir, config_var, workspace)
        self.departing = ""
        kind, words = split((config_var or {}).get("start", ""))
        if kind:
            getattr(self, f"start_{kind}")(words)

    def get_reply_from_agent(self, message):
        note(message)
        return super().get_reply_from_agent(message)

    def close(self):
        if self.departing:
            hold("close", self.departing)

    def start_crash(self, words):
        raise RuntimeError(words)

    def start_hang(self, words):
        time.sleep(600)

    def start_slow(self, words):
        time.sleep(2)

    def start_hold(self, words):
        hold("open", words)

    def stay(self, words):
        hold("reply", words)
        return words

    def depart(self, words):
        self.departing = words
        return words

    def huge(self, words):
        return "x" * 5_000_000 + words

    def die(self, words):
        raise SystemExit(words)

    def garbage(self, words):
        return {words: object()}

    def bytes(self, words):
        return b"\xff\xfe\x80 " + words.encode()

    def alien(self, words):
        class Alien(BaseException):
            def __str__(self):
                raise ValueError(words)

        raise Alien

    def cut(self, words):
        raise ConnectionResetError(words)

    def flood(self, words):
        raise ValueError(words + " flood" * 500_000)


class OnTheLoop(InProcess):
    async def get_reply_from_agent(self, message):
        if message.startswith("conformance: hang"):
            await asyncio.sleep(600)  # what blocks the loop would block Viva
        if message.startswith("conformance: stay"):
            for _ in waits("reply", message.split()[-1]):
                await asyncio.sleep(0.02)
        return super().get_reply_from_agent(message)

    def start_hang(self, words):
        raise TimeoutError(words)


class OwnProcess(InProcess):
    def start_crash(self, words):
        say(words)
        os._exit(3)

    def start_hang(self, words):
        say(words)
        time.sleep(600)

    def hang(self, words):
        say(words)
        time.sleep(600)

    def die(self, words):
        say(words)
        os._exit(3)

    def bytes(self, words):
        os.write(2, b"\xff\xfe\x80 " + words.encode())
        os._exit(3)

    def cut(self, words):
        say(words)
        os.closerange(0, 2)
        os.closerange(3, 4096)
        time.sleep(600)

    def flood(self, words):
        for _ in range(5):
            sys.stderr.write("flood " * 170_000)
        say(words)
        os._exit(3)
