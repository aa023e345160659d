"""User Mode Linux's management console: sends commands to a guest kernel, even to a stuck one."""

import socket
import struct
from pathlib import Path

_REQUEST = struct.Struct("=III512s")  # magic, version, length, command
_MAGIC, _VERSION = 0xCAFEBABE, 2


def tell(console: Path, command: str) -> None:
    """Give the guest's kernel a command, without waiting for an answer; OSError if it is gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.setblocking(False)
        data = command.encode()
        line.sendto(_REQUEST.pack(_MAGIC, _VERSION, len(data), data), str(console))
