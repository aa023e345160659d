"""The control line between the launcher and a node, which is not part of the network."""

import select
import socket
from typing import TypeVar

from contracts.control import Word, decode, encode

Wanted = TypeVar("Wanted", bound=Word)


class Control:
    """One end of a socket pair that carries words (contracts/control.py); both ends are alike."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._buffer = b""
        self._pending: list[Word] = []

    def fileno(self) -> int:
        """The file descriptor, for select and poll."""
        return self._line.fileno()

    def say(self, said: Word) -> None:
        """Send one word; blocks only while the other side is far behind."""
        self._line.sendall(encode(said))

    def wait_for(self, *kinds: type[Wanted]) -> Wanted:
        """Wait for the next word of one of these kinds and drop those that come before it.

        A node needs no deadline here: the launcher ends every node that it gives up on.
        """
        while True:
            while self._pending:
                said = self._pending.pop(0)
                if isinstance(said, kinds):
                    return said
            self._pending = self.read()

    def read_available(self) -> list[Word]:
        """Return all words that have come, without waiting for any."""
        readable = select.poll()
        readable.register(self._line, select.POLLIN)
        found, self._pending = self._pending, []
        while readable.poll(0):
            found += self.read()
        return found

    def take_available(self, *kinds: type[Wanted]) -> list[Wanted]:
        """Return all words of these kinds that have come, without waiting; others are kept."""
        words = self.read_available()
        self._pending = [said for said in words if not isinstance(said, kinds)]
        return [said for said in words if isinstance(said, kinds)]

    def read(self) -> list[Word]:
        """Wait for data and return its complete words; ConnectionError if the peer is gone."""
        data = self._line.recv(1 << 16)
        if not data:
            raise ConnectionError("the other end of a control line is gone")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [decode(line) for line in lines]
