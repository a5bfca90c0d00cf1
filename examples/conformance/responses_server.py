"""The same server behind OpenAI's Responses API: `python responses_server.py` prints its SPEC."""

import itertools

import chat_server

NUMBERS = itertools.count(1)
SAID = {}


class Handler(chat_server.Handler):
    def said(self, asked):
        texts = [each["content"] for each in asked["input"]] if isinstance(asked["input"], list) else [asked["input"]]
        earlier = SAID.pop(asked.get("previous_response_id"), [])
        return [*earlier, *(text.removeprefix(chat_server.PREFIX) for text in texts)]

    def answer(self, text, said):
        name = f"resp_{next(NUMBERS)}"
        SAID[name] = said
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        return {"id": name, "object": "response", "status": "completed", "output": [message]}


def main():
    chat_server.serve(Handler, "{}/v1/responses#conformance")


if __name__ == "__main__":
    main()
