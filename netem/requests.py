"""Encodes rtnetlink requests as bytes, with pyroute2's message classes.

The classes are used directly, because pyroute2's own front end runs an event loop for every
request: in the guest, where a system call costs tens of microseconds, that would be most of the
time. Each shape is encoded once and then addressed to one interface after another: the interface
index is at the same place in every rtnetlink message.
"""

import dataclasses
import socket
import struct
from functools import cache
from ipaddress import IPv4Network
from typing import Any

from contracts.links import Shape
from netem import shaping

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR = 16, 20, 24, 28
# As the kernel makes it itself for an address: in the main table, of this link, unicast.
_CONNECTED_ROUTE = {"table": 254, "proto": 2, "scope": 253, "type": 1}
_NEW_DISCIPLINE, _NEW_CLASS = 36, 40
_REQUEST_ACK = 0x5
_CREATE, _EXCLUSIVE, _APPEND, _REPLACE = 0x400, 0x200, 0x800, 0x100
_UP = 1
_PERMANENT, _STATIC = 0x80, 0x40  # to a bridge PERMANENT would mean an address of its own
_OF_THE_BRIDGE = 0x04
_INDEX_OFFSET = 20  # 16 bytes of header, then the interface index at byte 4 of every message

Attributes = list[tuple[str, Any]]


def _encoded(
    message: Any, kind: int, request_flags: int, attributes: Attributes, **fields: Any
) -> bytes:
    for name, value in fields.items():
        message[name] = value
    message["attrs"] = attributes
    message["header"]["type"] = kind
    message["header"]["flags"] = _REQUEST_ACK | request_flags
    message.encode()
    return bytes(message.data)


def _link(request_flags: int, attributes: Attributes, **fields: Any) -> bytes:
    from netem.route_messages import ifinfmsg

    return _encoded(ifinfmsg(), _NEW_LINK, request_flags, attributes, **fields)


def create_bridge(name: str, index: int) -> bytes:
    """Create a bridge."""
    kind = {"attrs": [("IFLA_INFO_KIND", "bridge")]}
    attributes = [("IFLA_IFNAME", name), ("IFLA_LINKINFO", kind)]
    return _link(_CREATE | _EXCLUSIVE, attributes, index=index)


def create_veth(
    port: tuple[str, int], host: tuple[str, int], host_mac: str, host_pid: int
) -> bytes:
    """Create a veth pair: the port here, the host's end in the namespace of the host's process.

    Segmentation offload is off, so that one packet is one frame. With it, the queues of a kernel
    without our changes would hold packets of 64 kB, and its counters miss the frames' headers.
    """
    peer = {
        "index": host[1],
        "attrs": [
            ("IFLA_IFNAME", host[0]),
            ("IFLA_ADDRESS", host_mac),
            ("IFLA_GSO_MAX_SEGS", 1),
            ("IFLA_NET_NS_PID", host_pid),
        ],
    }
    data = {"attrs": [("VETH_INFO_PEER", peer)]}
    kind = {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", data)]}
    attributes = [
        ("IFLA_IFNAME", port[0]),
        ("IFLA_GSO_MAX_SEGS", 1),
        ("IFLA_LINKINFO", kind),
    ]
    return _link(_CREATE | _EXCLUSIVE, attributes, index=port[1])


def set_link_up(index: int, master: int | None = None) -> bytes:
    """Set an interface up, and make it a port of the bridge `master` if that is given."""
    attributes = [("IFLA_MASTER", master)] if master is not None else []
    return _link(0, attributes, index=index, flags=_UP, change=_UP)


def set_frames(index: int, frames: int) -> bytes:
    """Say how many frames a packet may stand for that leaves an interface."""
    return _link(0, [("IFLA_GSO_MAX_SEGS", frames)], index=index)


def set_link_down(index: int) -> bytes:
    """Set an interface down: what is queued on it is lost, and its peer has no carrier."""
    return _link(0, [], index=index, flags=0, change=_UP)


def add_address(index: int, dotted: str, prefix: int) -> bytes:
    """Give an interface an address."""
    from netem.route_messages import ifaddrmsg

    attributes = [("IFA_LOCAL", dotted), ("IFA_ADDRESS", dotted)]
    fields = {"family": socket.AF_INET, "prefixlen": prefix, "index": index}
    return _encoded(ifaddrmsg(), _NEW_ADDRESS, _CREATE | _EXCLUSIVE, attributes, **fields)


def tune_route(
    index: int, dotted: str, prefix: int, congestion: str | None, initial_window: int | None
) -> bytes:
    """Say how TCP behaves towards the network of an interface that has this address."""
    from netem.route_messages import rtmsg

    network = IPv4Network(f"{dotted}/{prefix}", strict=False).network_address
    metrics: Attributes = []
    if initial_window is not None:
        metrics.append(("RTAX_INITCWND", initial_window))
    if congestion is not None:
        metrics.append(("RTAX_CC_ALGO", congestion))
    attributes: Attributes = [
        ("RTA_DST", str(network)),
        ("RTA_OIF", index),
        ("RTA_PREFSRC", dotted),
        ("RTA_METRICS", {"attrs": metrics}),
    ]
    fields = {"family": socket.AF_INET, "dst_len": prefix, **_CONNECTED_ROUTE}
    return _encoded(rtmsg(), _NEW_ROUTE, _CREATE | _REPLACE, attributes, **fields)


def add_neighbour(index: int, dotted: str, mac: str) -> bytes:
    """Add a permanent neighbour, so that no ARP request has to flood a thousand ports."""
    fields = {"family": socket.AF_INET, "ifindex": index, "state": _PERMANENT}
    return _neighbour([("NDA_DST", dotted), ("NDA_LLADDR", mac)], _CREATE | _EXCLUSIVE, **fields)


def add_bridge_entry(index: int, mac: str) -> bytes:
    """Tell a bridge which of its ports leads to the host with this MAC address."""
    fields = {
        "family": socket.AF_BRIDGE,
        "ifindex": index,
        "state": _STATIC,
        "flags": _OF_THE_BRIDGE,
    }
    return _neighbour([("NDA_LLADDR", mac)], _CREATE | _APPEND, **fields)


def _neighbour(attributes: Attributes, request_flags: int, **fields: Any) -> bytes:
    from netem.route_messages import ndmsg

    return _encoded(ndmsg(), _NEW_NEIGHBOUR, request_flags, attributes, **fields)


def add_shape(index: int, wanted: Shape, burst_seconds: float, frames: int = 1) -> bytes:
    """Put a shape on an interface that has none, for packets that stand for so many frames."""
    parts = shaping.disciplines(wanted, burst_seconds, frames)
    return b"".join(_readdressed(_discipline(part, _CREATE | _EXCLUSIVE), index) for part in parts)


def change_shape(
    index: int, wanted: Shape, burst_seconds: float, frames: int = 1, before: Shape | None = None
) -> bytes:
    """Change a shaped interface in place; packets stay queued.

    When the shape `before` is given, only what differs from it is changed.
    """
    parts = shaping.disciplines(wanted, burst_seconds, frames)
    if before is not None:
        had = shaping.disciplines(before, burst_seconds, frames)
        parts = tuple(part for part in parts if part not in had)
    changed = [_complete(part) for part in parts if part.is_class or part.kind != "htb"]
    return b"".join(_readdressed(_discipline(part, 0), index) for part in changed)


def _complete(part: shaping.Discipline) -> shaping.Discipline:
    """Name netem's rate even if there is none: a netem that is told no rate keeps its old one."""
    if part.kind != "netem" or "rate" in dict(part.options):
        return part
    return dataclasses.replace(part, options=(*part.options, ("rate", 0)))


@cache
def _discipline(part: shaping.Discipline, request_flags: int) -> bytes:
    from netem.route_messages import plugins, tcmsg

    plugin, options = plugins[part.kind], dict(part.options)
    if part.kind == "fq_codel":  # pyroute2's own function warns that it will change
        parameters = {"attrs": [["TCA_FQ_CODEL_LIMIT", options["limit"]]]}
    elif part.is_class:
        parameters = plugin.get_class_parameters(options)
    else:
        parameters = plugin.get_parameters(options)
    attributes = [("TCA_KIND", part.kind), ("TCA_OPTIONS", parameters)]
    kind = _NEW_CLASS if part.is_class else _NEW_DISCIPLINE
    fields = {"handle": part.handle, "parent": part.parent}
    return _encoded(tcmsg(), kind, request_flags, attributes, **fields)


def _readdressed(message: bytes, index: int) -> bytes:
    return message[:_INDEX_OFFSET] + struct.pack("=I", index) + message[_INDEX_OFFSET + 4 :]
