"""Reads the kernel's counters of every link: bytes and packets at the port, drops in the queues."""

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netem import netlink
from netem.shaping import LEAF

if TYPE_CHECKING:
    from netem.mininet_parts import ShapedLink

_RTM_GETQDISC, _RTM_GETSTATS = 38, 94
_REQUEST_DUMP = 0x301
_STATS_LINK_64 = 1
_TCA_STATS2, _TCA_STATS_QUEUE = 7, 3

_STATS_REQUEST = struct.pack("=IHHIIBBHII", 28, _RTM_GETSTATS, _REQUEST_DUMP, 1, 0, 0, 0, 0, 0, 1)
_QDISC_REQUEST = struct.pack(
    "=IHHIIBBHiIII", 36, _RTM_GETQDISC, _REQUEST_DUMP, 1, 0, 0, 0, 0, 0, 0, 0, 0
)


@dataclass(frozen=True)
class LinkCounters:
    """Totals of one link since it was made: `up` is what left the host, `down` what reached it."""

    bytes_up: int = 0
    bytes_down: int = 0
    packets_up: int = 0
    packets_down: int = 0
    drops_up: int = 0
    drops_down: int = 0

    def since(self, before: "LinkCounters") -> "LinkCounters":
        """Return what was counted since an earlier reading."""
        return LinkCounters(*(getattr(self, f) - getattr(before, f) for f in self.__match_args__))


def read(root: socket.socket, links: Mapping[str, "ShapedLink"]) -> dict[str, LinkCounters]:
    """Read the counters of every link, by the link's name."""
    ports = dict(_port_statistics(root))
    in_root = dict(_leaf_drops(root))
    found = {}
    for name, link in links.items():
        packets_up, packets_down, bytes_up, bytes_down = ports[link.port_index]
        drops_up = in_root  # of a trunk both ends are there
        if link.host.netlink is not root:
            drops_up = dict(_leaf_drops(link.host.netlink)) if link.up else {}
        found[name] = LinkCounters(
            bytes_up,
            bytes_down,
            packets_up,
            packets_down,
            drops_up.get(link.host_index, 0),
            in_root.get(link.port_index, 0),
        )
    return found


def _port_statistics(through: socket.socket) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
    for _, payload in netlink.dump(through, _STATS_REQUEST):
        index = struct.unpack_from("=I", payload, 4)[0]
        for kind, value in _attributes(payload[12:]):
            if kind == _STATS_LINK_64:
                yield index, struct.unpack_from("=QQQQ", value)


def _leaf_drops(through: socket.socket) -> Iterator[tuple[int, int]]:
    for _, payload in netlink.dump(through, _QDISC_REQUEST):
        index, handle = struct.unpack_from("=iI", payload, 4)
        if handle != LEAF:
            continue
        for kind, value in _attributes(payload[20:]):
            if kind == _TCA_STATS2:
                for inner, data in _attributes(value):
                    if inner == _TCA_STATS_QUEUE:
                        yield index, struct.unpack_from("=III", data)[2]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        yield kind & 0x3FFF, data[offset + 4 : offset + length]
        offset += (max(length, 4) + 3) & ~3
