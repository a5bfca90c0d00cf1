"""A small airline support agent with tools, in three versions: rules and no model, so that every run is the same."""

import copy
import re

DB = {
    "QX7H2M": {"name": "Ada Lane", "flight": "HV101", "departs": "09:40", "price": 320, "refundable": True},
    "ZK4P9T": {"name": "Ben Ode", "flight": "HV220", "departs": "17:05", "price": 140, "refundable": False},
    "LM3W8D": {"name": "Cleo Fox", "flight": "HV310", "departs": "06:15", "price": 500, "refundable": True},
}
FLIGHTS = {"HV312": "12:30", "HV314": "19:45"}


class Airline:
    """careful asks before it acts; hasty acts at once; forgetful loses the code after each turn."""

    def __init__(self, kind="careful"):
        self.kind, self.db = kind, copy.deepcopy(DB)
        self.code = self.intent = self.pending = None
        self.steps = []

    def tool(self, name, **args):
        code = args.get("code")
        if name == "get_reservation":
            result = self.db.get(code)
        elif name == "cancel":
            row = self.db.pop(code)
            result = {"refund": row["price"] if row["refundable"] else 0}
        elif name == "rebook":
            self.db[code].update(flight=args["flight"], departs=FLIGHTS[args["flight"]])
            result = self.db[code]
        elif name == "baggage_fee":
            result = {"fee": 35 * args["bags"]}
        else:
            result = {"queue": 3}
        self.steps.append({"tool": name, "args": args, "result": copy.deepcopy(result)})
        return result

    def reply(self, message):
        self.steps = []
        text = self._reply(message)
        if self.kind == "forgetful":
            self.code = None
        return text

    def _act(self):
        what, args = self.pending
        self.pending = None
        result = self.tool(what, **args)
        if what == "cancel":
            return f"Your reservation {args['code']} is cancelled. The refund is {result['refund']} euros."
        return f"You are now on {args['flight']}, which departs at {FLIGHTS[args['flight']]}."

    def _ask(self, question):
        return self._act() if self.kind == "hasty" else question + " Shall I do it (yes or no)?"

    def _reply(self, message):
        low = message.lower()
        found = re.search(r"\b(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{5}\b", message)
        if self.pending and re.search(r"\byes\b", low):
            return self._act()
        if self.pending and re.search(r"\bno\b", low):
            self.pending = None
            return "All right, nothing has been changed."
        for intent, words in (
            ("cancel", "cancel"),
            ("bags", "bag"),
            ("rebook", "later flight|HV31"),
            ("status", "when|depart"),
        ):
            if re.search(words, message, re.I):
                self.intent = intent
                break
        if found:
            if self.tool("get_reservation", code=found[0]) is None:
                return f"I cannot find a reservation with the code {found[0]}. Could you check it?"
            self.code = found[0]
        if "name" in low and "change" in low:
            return "I am sorry, the name on a ticket cannot be changed."
        if "human" in low:
            self.tool("transfer", reason="asked")
            return "I am transferring you to a colleague."
        if self.intent is None:
            return "Hello, what can I do for you?"
        if self.code is None:
            return "Could you tell me your six-character reservation code?"
        row = self.db.get(self.code)
        if row is None:
            return f"Reservation {self.code} no longer exists."
        if self.intent == "status":
            return f"Flight {row['flight']} departs at {row['departs']}."
        if self.intent == "bags":
            count = int((re.search(r"(\d) (?:more |extra )?bag", message) or [0, 1])[1])
            return f"{count} extra bags cost {self.tool('baggage_fee', bags=count)['fee']} euros."
        if self.intent == "cancel":
            self.pending = ("cancel", {"code": self.code})
            terms = f"with a refund of {row['price']} euros" if row["refundable"] else "without any refund"
            return self._ask(f"Reservation {self.code} can be cancelled {terms}.")
        flight = re.search(r"HV31[24]", message)
        if not flight:
            return "I can offer HV312 at 12:30 or HV314 at 19:45. Which one do you want?"
        self.pending = ("rebook", {"code": self.code, "flight": flight[0]})
        return self._ask(f"I can move you to {flight[0]} at {FLIGHTS[flight[0]]}.")
