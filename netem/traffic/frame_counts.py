"""Counts packets in the kernel, with sockets that never hand them to a process."""

import ctypes
import socket
import struct

_SO_ATTACH_FILTER, _SO_MEMINFO = 26, 55
_DROPS = 8  # the place of the drops among the nine numbers of SO_MEMINFO
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23
_ALL = 3  # ETH_P_ALL: sees packets before the bridge takes them

Instruction = tuple[int, int, int, int]  # classic BPF: code, jump if true, if false, operand
_REFUSE: Instruction = (0x06, 0, 0, 0)
_ONLY_UDP: tuple[Instruction, ...] = (
    (0x28, 0, 0, 12),  # the frame's type
    (0x15, 0, 3, 0x0800),  # IP, else refuse
    (0x30, 0, 0, 23),  # its protocol
    (0x15, 0, 1, 17),  # UDP, else refuse
    (0x06, 0, 0, 1),  # take one byte
    _REFUSE,
)


class CountingSink:
    """Counts the packets that reach a UDP socket. All are dropped, and none wakes a process."""

    def __init__(self, opened: socket.socket, address: tuple[str, int]) -> None:
        self._socket = opened
        _attach(opened, _REFUSE)
        opened.bind(address)

    def count(self) -> int:
        """Return how many packets have come so far."""
        numbers = self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36)
        return int(struct.unpack("=9I", numbers)[_DROPS])


class PortTap:
    """Counts the UDP packets that come in at a bridge's port.

    Its buffer is full after the first few packets; the kernel counts the others all the same.
    """

    def __init__(self, interface: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        _attach(self._socket, *_ONLY_UDP)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        self._socket.bind((interface, _ALL))
        self._total = 0

    def count(self) -> int:
        """Return the count since the start; the kernel's own starts again at every reading."""
        numbers = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self._total += struct.unpack("=II", numbers)[0]
        return self._total


def _attach(to: socket.socket, *program: Instruction) -> None:
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    kept = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HP", len(program), ctypes.addressof(kept))
    to.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)
