"""Installs a case's dependencies: in a throw-away container, or for bwrap and process into a folder of this machine.

It reads its order from stdin, and ends its pip when stdin ends: then the harness has ended, and the result is not
needed.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys

# Runs pip in a process that can start no program. To install a wheel is to unpack it; a build, or a look into a
# repository, is always a program that pip starts, whatever requirement or package has led to it.
PIP = """
import os, runpy, sys
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
def witness(event, arguments):
    if event in STARTS and not is_look(event, arguments):
        raise PermissionError("only wheels are installed, and this would run a program of the package")
def is_look(event, arguments):
    # pip asks the C library (musl) and macOS for their versions.
    command = arguments[1] if event == "subprocess.Popen" else ()
    first = command[0] if isinstance(command, (list, tuple)) and command else ""
    return "/ld-musl-" in str(first) or (first == sys.executable and list(command[1:3]) == ["-sS", "-c"])
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)  # it dies with its parent
if sys.argv.pop(1) == "wheels":
    sys.addaudithook(witness)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


def main() -> None:
    """Run pip as the order says, and end with its exit status."""
    order = json.loads(sys.stdin.readline())
    scratch = order["scratch"]
    os.makedirs(scratch, exist_ok=True)
    environment = {**os.environ, **order["proxies"], "TMPDIR": scratch}
    if order["home"]:
        environment["HOME"] = order["home"]
    if order["certificates"]:
        with open(scratch + "/ca.pem", "w") as file:
            file.write(order["certificates"])
        for name in ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            environment[name] = scratch + "/ca.pem"
    for key, value in order["pip"].items():
        environment["PIP_" + key.upper().replace("-", "_")] = value
    if subprocess.call([sys.executable, "-I", "-m", "pip", "--version"], stdout=subprocess.DEVNULL) != 0:
        subprocess.call([sys.executable, "-m", "ensurepip"])
    pip = subprocess.Popen(
        [sys.executable, "-I", "-c", PIP, "source" if order["source"] else "wheels", *arguments(order)],
        env=environment,
        cwd=scratch,  # where no file of anybody's can be taken for a requirement
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    while pip.poll() is None:
        if select.select([0], [], [], 0.1)[0] and not os.read(0, 1):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pip.pid, signal.SIGKILL)
            pip.wait()
            if order["abandon"]:
                shutil.rmtree(order["abandon"], ignore_errors=True)
            sys.exit(98)
    sys.exit(pip.returncode)


def arguments(order: dict) -> list:  # type: ignore[type-arg]
    """Return what pip is called with."""
    words = ["install", "--no-input", "--disable-pip-version-check", "--quiet", "--target", order["target"]]
    words += order["options"]
    if not order["source"]:
        words += ["--only-binary", ":all:"]
    return [*words, "--", *order["requirements"]]


main()
