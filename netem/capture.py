"""Captures of links: what crosses a link's port, with the network's own time, for Wireshark.

A capture is made by a process of its own in the switches' namespace. It runs only when no node
wants to (on the virtual clock nodes have real-time priorities), and there no time passes while it
writes, so that a run's records are the same with and without it.
"""

import os
import select
import signal
import socket
import struct
from functools import partial
from pathlib import Path
from typing import BinaryIO

from netem import syscalls
from netem.child_process import fork_to

SNAP_BYTES = 256  # of each packet: all of its headers, and the first bytes of what it carries
_LARGEST_PACKET = 1 << 16
_ETH_P_ALL = 3
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
_BUFFER_BYTES = 64 << 20
_NANOSECOND_MAGIC, _ETHERNET = 0xA1B23C4D, 1
_FILE_HEADER = struct.Struct("<IHHiIII")
_PACKET_HEADER = struct.Struct("<IIII")
_TIME = struct.Struct("@ll")


class Capture:
    """One process that writes what crosses an interface of this namespace to a file."""

    def __init__(self, interface: str, path: Path) -> None:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        opened.bind((interface, _ETH_P_ALL))
        self._pid = fork_to(partial(_write_packets, opened, path))
        opened.close()

    def stop(self) -> None:
        """Let it write what it has, and end it."""
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)


def _write_packets(opened: socket.socket, path: Path) -> None:
    """Write packets until told to end."""
    syscalls.die_with_parent(signal.SIGTERM)
    syscalls.set_process_name("capture")
    told, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGTERM, lambda *_: None)  # it is seen at the other end of the pipe
    packet = bytearray(_LARGEST_PACKET)
    with path.open("wb") as file:
        file.write(_FILE_HEADER.pack(_NANOSECOND_MAGIC, 2, 4, 0, 0, SNAP_BYTES, _ETHERNET))
        readable: list[int] = []
        while told not in readable:
            readable = select.select([opened.fileno(), told], [], [])[0]
            _write_waiting(opened, packet, file)


def _write_waiting(opened: socket.socket, packet: bytearray, file: BinaryIO) -> None:
    """Write all packets that have come; `packet` is the room for one."""
    room = socket.CMSG_SPACE(_TIME.size)
    while True:
        try:
            length, notes, *_ = opened.recvmsg_into([packet], room, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        seconds, nanoseconds = _TIME.unpack(notes[0][2][: _TIME.size])
        kept = min(length, SNAP_BYTES)
        file.write(_PACKET_HEADER.pack(seconds, nanoseconds, kept, length) + packet[:kept])
