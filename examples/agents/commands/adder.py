"""Adds numbers up, for the case sum_1_to_50. It needs nothing but Python."""

import json
import re
import sys

total = 0
for line in sys.stdin:
    request = json.loads(line)
    total += sum(int(number) for number in re.findall(r"add (-?\d+)", request["message"]))
    print(json.dumps({"id": request["id"], "text": f"The sum is {total}."}), flush=True)
