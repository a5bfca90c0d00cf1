"""A headless Chromium, driven over WebDriver's plain HTTP (https://www.w3.org/TR/webdriver2/) with nothing installed
but `chromium` and `chromedriver` (Debian: chromium-driver)."""

from __future__ import annotations

import base64
import http.client
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-extensions", "--window-size=900,620")  # fmt: skip
_OPEN = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Chromium:
    """One window."""

    def __init__(self) -> None:
        binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        if not binary or not driver:
            raise RuntimeError("this agent needs chromium and chromedriver (Debian: apt install chromium-driver)")
        self._profile = tempfile.TemporaryDirectory(prefix="browser-agent-", ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            self._base = f"http://127.0.0.1:{self._port()}/session"
            options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={self._profile.name}"]}
            wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
            self._base += "/" + self._call("", wanted)["sessionId"]
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            self._call("", method="DELETE")
        finally:
            self._stop()

    def go(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._call("/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns in the page."""
        return self._call("/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """Click on an element that can be seen."""
        self._call(f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into a field, key by key."""
        self._call(f"/element/{self._find(selector)}/value", {"text": text})

    def screenshot(self) -> bytes:
        """The window as a PNG."""
        return base64.b64decode(self._call("/screenshot", method="GET"))

    def _find(self, selector: str) -> str:
        found = self._call("/element", {"using": "css selector", "value": selector})
        return str(next(iter(found.values())))

    def _port(self) -> str:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                return found[1]
        raise RuntimeError("chromedriver did not start")

    def _stop(self) -> None:
        self._driver.terminate()
        self._driver.wait(20)
        if self._driver.stdout is not None:
            self._driver.stdout.close()
        self._profile.cleanup()

    def _call(self, path: str, body: object = None, method: str = "POST") -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with _OPEN.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"].splitlines()[0]) from None
        except http.client.HTTPException as error:
            raise RuntimeError(f"chromedriver broke off its answer: {error!r}") from None
