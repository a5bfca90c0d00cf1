"""A real Chromium for the tests, driven over WebDriver's plain HTTP (https://www.w3.org/TR/webdriver2/)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

# fmt: off
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--window-size=1280,900",
    "--disable-gpu-rasterization", "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,MediaRouter",
)
# fmt: on
_OPEN = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def installed() -> bool:
    """Whether this machine has Chromium and its driver."""
    return bool(_binary() and shutil.which("chromedriver"))


def _binary() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One window. Use as a context manager."""

    def __init__(self, profile: Path) -> None:
        self._profile = profile
        self._shown = ""
        self._changed = False

    def __enter__(self) -> Browser:
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            self._base = f"http://127.0.0.1:{self._port()}/session"
            wanted = {
                "goog:chromeOptions": {"binary": _binary(), "args": [*FLAGS, f"--user-data-dir={self._profile}"]},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            self._base += "/" + self._call("", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._driver.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait(20)
            if self._driver.stdout is not None:
                self._driver.stdout.close()

    def go(self, page: Path, fragment: str = "") -> None:
        """Open a file anew and wait until it is loaded."""
        self.open(page.resolve().as_uri() + fragment)

    def open(self, address: str) -> None:
        """Open an address anew."""
        page, _, _ = address.partition("#")
        if page == self._shown:
            # From one fragment of a page to another nothing is loaded, and `hashchange` comes when it comes.
            self._call("/url", {"url": "about:blank"})
        self._call("/url", {"url": address})
        self._shown = page

    def follow(self, fragment: str) -> None:
        """Go to another place of the page that is open, without loading it anew; done when the page has heard of it."""
        heard = 'new Promise((done) => addEventListener("hashchange", () => done(), {once: true}))'
        go = f"const heard = {heard}; location.hash = to; return heard"
        self.run(f"const to = {json.dumps(fragment)}; if (location.hash !== to) {{ {go} }}")

    def as_at_first(self) -> None:
        """Undo what tests change of the window."""
        if self._changed:
            self.run_command("Emulation.clearDeviceMetricsOverride", {})
            self.run_command("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self._changed = False

    def run(self, script: str) -> Any:
        """What a script returns in the page."""
        return self._call("/execute/sync", {"script": script, "args": []})

    def until(self, condition: str) -> None:
        """Wait for what comes true in its own time: a link within the page followed, an image decoded."""
        end = time.monotonic() + 20
        while not self.run(f"return {condition}"):
            assert time.monotonic() < end, f"never true in the page: {condition}"
            time.sleep(0.02)

    def type(self, selector: str, text: str) -> None:
        """Type into a field, key by key."""
        found = self._call("/element", {"using": "css selector", "value": selector})
        self._call(f"/element/{next(iter(found.values()))}/value", {"text": text})

    def click(self, selector: str) -> None:
        """Click on what a reader would click on; fails where it cannot be seen."""
        found = self._call("/element", {"using": "css selector", "value": selector})
        self._call(f"/element/{next(iter(found.values()))}/click", {})

    def press(self, key: str, times: int = 1) -> None:
        """Press a key as a reader would: `ArrowRight`, `ArrowLeft`, `Escape`, `Enter`, `Tab`, or a character."""
        named = {"ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004"}
        value = named.get(key, key)
        strokes = [{"type": kind, "value": value} for _ in range(times) for kind in ("keyDown", "keyUp")]
        self._call("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def scheme(self, name: str, media: str = "") -> None:
        """Have the page take the reader to prefer `light` or `dark`, on a screen or in `print`."""
        self._changed = True
        features = [{"name": "prefers-color-scheme", "value": name}]
        emulated = {"media": media, "features": features}
        self._call("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": emulated})

    def width(self, pixels: int) -> None:
        """Make the page so wide."""
        self._changed = True
        size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 600}
        self._call("/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})

    def run_command(self, name: str, parameters: dict[str, Any]) -> Any:
        """What a command of Chromium's DevTools protocol returns."""
        return self._call("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def complaints(self) -> list[str]:
        """What the console said since the last call: errors of scripts, things the security policy stopped."""
        return [entry["message"] for entry in self._call("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Addresses asked for since the last call, those of the page, its data and Chromium's own aside."""
        events = [json.loads(entry["message"])["message"] for entry in self._call("/se/log", {"type": "performance"})]
        asked = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("file://", "data:", "chrome://"))]

    def _port(self) -> str:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                return found[1]
        raise AssertionError("chromedriver did not start")

    def _call(self, path: str, body: object = None, method: str = "POST") -> Any:
        data = None if method == "DELETE" else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with _OPEN.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None
