"""User Mode Linux's management console: sends commands to a guest kernel, even to a stuck one."""

import socket
import struct
import tempfile
from pathlib import Path

_REQUEST = struct.Struct("=III512s")  # magic, version, length, command
_REPLY = struct.Struct("=iII512s")  # error, more to come, length, text
_MAGIC, _VERSION = 0xCAFEBABE, 2
_PATIENCE_SECONDS = 5.0


def ask(console: Path, command: str) -> str:
    """Return the guest kernel's answer to a command; OSError or TimeoutError when none comes."""
    text: str = ""
    with (
        tempfile.TemporaryDirectory(prefix="metronome-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line,
    ):
        line.bind(f"{folder}/reply")
        line.settimeout(_PATIENCE_SECONDS)
        data = command.encode()
        line.sendto(_REQUEST.pack(_MAGIC, _VERSION, len(data), data), str(console))
        while True:
            _, more, length, part = _REPLY.unpack(line.recv(_REPLY.size).ljust(_REPLY.size, b"\0"))
            text += str(part[:length], errors="replace")
            if not more:
                return text
