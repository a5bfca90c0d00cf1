"""The same server behind a JSON API of its own, which `json_api.yaml` describes.

`python json_api_server.py` prints its address; then `VIVA_CONFORMANCE_URL=… pytest --viva-conformance json_api.yaml`.
"""

import itertools

import chat_server

NUMBERS = itertools.count(1)
SAID = {}


class Handler(chat_server.Handler):
    def said(self, asked):
        number = self.path.rpartition("/")[2]
        if number == "sessions":
            session = str(next(NUMBERS))
            SAID[session] = []
            return self.send(200, b'{"id": "%s"}' % session.encode())
        SAID[number].append(asked["say"].removeprefix(chat_server.PREFIX))
        return SAID[number]

    def answer(self, text, said):
        return {"data": {"text": text}}

    def do_DELETE(self):  # noqa: N802 (the name that the library looks for)
        del SAID[self.path.rpartition("/")[2]]
        self.send(200, b"{}")


def main():
    chat_server.serve(Handler, "{}")


if __name__ == "__main__":
    main()
