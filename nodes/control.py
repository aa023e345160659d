"""A node's line to the launcher: what it reports, and the word to go. Not part of the network."""

import select
import socket
from typing import TypeVar

from contracts.control import Word, decode, encode

Wanted = TypeVar("Wanted", bound=Word)


class Control:
    """Words over a socket pair (contracts/control.py); works the same on both sides."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._buffer = b""
        self._pending: list[Word] = []

    def fileno(self) -> int:
        """The descriptor, to wait on."""
        return self._line.fileno()

    def say(self, said: Word) -> None:
        """Send one word; blocks only while the other side is far behind."""
        self._line.sendall(encode(said))

    def wait_for(self, *kinds: type[Wanted]) -> Wanted:
        """The next word of one of these kinds; those before it are dropped.

        The launcher bounds a node's wait, by ending every node it gives up on.
        """
        while True:
            while self._pending:
                said = self._pending.pop(0)
                if isinstance(said, kinds):
                    return said
            self._pending = self.read()

    def waiting(self) -> list[Word]:
        """All words that have come, without waiting for any."""
        readable = select.poll()
        readable.register(self._line, select.POLLIN)
        found, self._pending = self._pending, []
        while readable.poll(0):
            found += self.read()
        return found

    def read(self) -> list[Word]:
        """The complete words of one read; ConnectionError when the other side is gone."""
        data = self._line.recv(1 << 16)
        if not data:
            raise ConnectionError("the other end of a control line is gone")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [decode(line) for line in lines]
