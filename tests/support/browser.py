"""Drives a headless Chromium over the DevTools pipe: JSON messages, each ended by a zero byte."""

import fcntl
import json
import os
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE = 60.0  # seconds for one answer, on a busy machine
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # the tests may be run by root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Page:
    """One page; `complaints` collects what it logs as a warning or an error."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> float:
        """Open a file on a screen of that size; return the seconds until it was shown."""
        return self.open_address(path.resolve().as_uri(), width, height, dark)

    def open_address(
        self, address: str, width: int = 1200, height: int = 900, dark: bool = False
    ) -> float:
        """Open an address in the same way."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        began = time.monotonic()
        self._call("Page.navigate", url=address)
        while self.run("document.readyState") != "complete" or not self.run("!!window.metronome"):
            assert time.monotonic() - began < _PATIENCE, self.complaints
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - began

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page, awaiting promises, and return its value."""
        options = {"returnByValue": True, "awaitPromise": True}
        found = self._call("Runtime.evaluate", expression=script, **options)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def processor_seconds(self) -> float:
        """Return the processor time of the page's process, which a busy machine does not change."""
        self._call("Performance.enable")
        metrics = {m["name"]: m["value"] for m in self._call("Performance.getMetrics")["metrics"]}
        return float(metrics["ProcessTime"])

    def press(self, key: str) -> None:
        """Press a key on whatever has the focus."""
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13}.get(key, ord(key[0]))
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            fields: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "code": key}
            self._call("Input.dispatchKeyEvent", type=kind, **fields, **text)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that matches."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, **where)

    def screenshot(self, path: Path) -> None:
        """Take a picture of the whole page, however long."""
        taken = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(b64decode(taken["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._listen(answer.get("method", ""), answer.get("params", {}))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            more = os.read(self._from, 1 << 20)
            assert more, "the browser ended"
            self._pending += more
        line, _, self._pending = self._pending.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _listen(self, method: str, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.complaints.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(said["entry"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start a Chromium with its profile in `folder`, and yield its page."""
    to_browser, our_end = _pipe()
    our_ear, from_browser = _pipe()
    command = ["/usr/bin/chromium", *_OPTIONS, f"--user-data-dir={folder / 'profile'}"]
    # Chromium expects the ends of the pipes as descriptors 3 and 4.
    shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", shell, "bash", *command],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(folder)},
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(our_end, our_ear)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        os.close(our_end)
        os.close(our_ear)


def _pipe() -> tuple[int, int]:
    """Make a pipe whose descriptors are above 9, out of the way of 3 and 4."""
    low = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return read, write
