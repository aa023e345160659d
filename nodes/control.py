"""A node's line to the launcher: what it reports, and the word to go. Not part of the network."""

import json
import select
import socket
from typing import Any


class Control:
    """JSON lines over a socket pair; works the same on both sides."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._buffer = b""
        self._pending: list[dict[str, Any]] = []

    def fileno(self) -> int:
        return self._line.fileno()

    def say(self, what: str, **data: Any) -> None:
        """Send one report; blocks only while the other side is far behind."""
        self._line.sendall(json.dumps({"is": what, **data}).encode() + b"\n")

    def wait_for(self, *words: str) -> dict[str, Any]:
        """The next report with one of these words; those before it are dropped.

        The launcher bounds a node's wait, by ending every node it gives up on.
        """
        while True:
            while self._pending:
                message = self._pending.pop(0)
                if message["is"] in words:
                    return message
            self._pending = self.read()

    def waiting(self) -> list[dict[str, Any]]:
        """All reports that have come, without waiting for any."""
        readable = select.poll()
        readable.register(self._line, select.POLLIN)
        found, self._pending = self._pending, []
        while readable.poll(0):
            found += self.read()
        return found

    def read(self) -> list[dict[str, Any]]:
        """The complete reports of one read; ConnectionError when the other side is gone."""
        data = self._line.recv(1 << 16)
        if not data:
            raise ConnectionError("the other end of a control line is gone")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]
