"""A headless Chromium over the DevTools protocol, on a pair of pipes: nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)
_PATIENCE = 60.0


class Tab:
    """One page: open it, ask it, look at it. `requests` and `errors` grow as things happen."""

    def __init__(self, send: Any, receive: Any, session: str) -> None:
        self._send, self._receive, self._session = send, receive, session
        self._seen: list[str] = []
        self.page = ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        number = self._send(method, parameters, self._session)
        while True:
            message = self._receive()
            self._note(message)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def _note(self, message: dict[str, Any]) -> None:
        kind, told = message.get("method", ""), message.get("params", {})
        self._seen.append(kind)
        if kind == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif kind == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(told["exceptionDetails"]))
        elif kind == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(told["args"]))
        elif kind == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(told["entry"]["text"])

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.requests, self.errors, self._seen = [], [], []
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.page = page.resolve().as_uri()
        self.call("Page.navigate", url=self.page)
        while "Page.loadEventFired" not in self._seen:
            self._note(self._receive())
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser() -> Iterator[Tab]:
    """A tab of a browser of its own, gone at the end with everything that it wrote."""
    assert CHROMIUM is not None
    to_read, to_us = os.pipe()
    from_us, to_write = os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4.
    shell = ("bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [*shell, CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(from_us, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        try:
            yield _tab(to_read, to_write)
        finally:
            process.terminate()
            process.wait(timeout=20)
            os.close(to_read)
            os.close(to_write)


def _tab(to_read: int, to_write: int) -> Tab:
    count, rest, waiting = 0, b"", list[dict[str, Any]]()

    def send(method: str, parameters: dict[str, Any], session: str | None = None) -> int:
        nonlocal count
        count += 1
        message = {"id": count, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(to_write, json.dumps(message).encode() + b"\0")
        return count

    def receive() -> dict[str, Any]:
        nonlocal rest
        until = monotonic() + _PATIENCE
        while not waiting:
            ready, _, _ = select.select([to_read], [], [], max(0.0, until - monotonic()))
            block = os.read(to_read, 1 << 20) if ready else b""
            assert block, "Chromium went away or said nothing for a minute"
            *whole, rest = (rest + block).split(b"\0")
            waiting.extend(json.loads(each) for each in whole)
        return waiting.pop(0)

    def answer(method: str, **parameters: Any) -> Any:
        number = send(method, parameters)
        while (message := receive()).get("id") != number:
            pass
        return message["result"]

    target = answer("Target.createTarget", url="about:blank")["targetId"]
    return Tab(send, receive, answer("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
