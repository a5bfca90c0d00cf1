"""Installs a case's dependencies, in a throw-away container. Told what to do on stdin; ends when that ends."""

import json
import os
import select
import subprocess
import sys

SCRATCH = "/tmp/viva"  # noqa: S108 - a tmpfs: nothing written there becomes part of the image


def main() -> None:
    order = json.loads(sys.stdin.readline())
    os.makedirs(SCRATCH, exist_ok=True)
    environment = {**os.environ, **order["proxies"], "HOME": SCRATCH, "TMPDIR": SCRATCH}
    if order["certificates"]:
        with open(SCRATCH + "/ca.pem", "w") as file:
            file.write(order["certificates"])
        for name in ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            environment[name] = SCRATCH + "/ca.pem"
    for key, value in order["pip"].items():
        environment["PIP_" + key.upper().replace("-", "_")] = value
    if subprocess.call([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL) != 0:
        subprocess.call([sys.executable, "-m", "ensurepip"])
    command = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--quiet"]
    command += [
        "--no-cache-dir",
        "--root-user-action=ignore",
        "--target",
        order["target"],
        "--",
        *order["requirements"],
    ]
    pip = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    while pip.poll() is None:
        # The harness is gone when stdin is: then so is the wish.
        if select.select([0], [], [], 0.1)[0] and not os.read(0, 1):
            pip.kill()
            sys.exit(98)
    sys.exit(pip.returncode)


main()
