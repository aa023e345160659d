"""Sends background traffic: real packets from host to host, through the same queues as training.

Every flow is a small process in its sender's namespace that sleeps until the next packet is due.
What arrives is counted and dropped by the kernel, without waking a process.
"""

import mmap
import os
import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from contracts.traffic import Flow
from netem import syscalls
from netem.traffic.flows import FRAME_BYTES, PAYLOAD_BYTES, departures
from netem.traffic.frame_counts import CountingSink, PortTap

if TYPE_CHECKING:
    from contracts.plan import Plan
    from netem.network import Network

_FIRST_PORT = 5600
_LONGEST_SLEEP = 3600.0  # seconds
_SO_SNDBUFFORCE = 32
_SEND_BUFFER = 1 << 26  # bytes; so large that packets are lost in the link's queue, never before it
_COUNT = struct.Struct("=Q")


@dataclass
class _RunningFlow:
    plan: Flow
    pid: int
    line: socket.socket
    sink: CountingSink
    sent: mmap.mmap

    def packets_sent(self) -> int:
        return int(_COUNT.unpack_from(self.sent)[0])


class BackgroundTraffic:
    """Runs all flows of a plan: the launcher starts them, reads their counters and stops them."""

    def __init__(self, plan: "Plan", network: "Network") -> None:
        self._flows = list(_started(plan, network))
        first = {flow.first_link for flow in plan.traffic}
        self._taps = {name: PortTap(network.links[name].intf2.name) for name in sorted(first)}

    def begin(self, zero: float) -> None:
        """Tell every flow when time zero is, on the monotonic clock."""
        for flow in self._flows:
            flow.line.sendall(struct.pack("=d", zero))

    def bytes_carried(self) -> Counter[tuple[str, str]]:
        """Return the bytes carried so far by each link and direction ("up" or "down").

        They are counted behind the queues: upwards on a flow's first link, downwards on its last.
        """
        found: Counter[tuple[str, str]] = Counter()
        for link, tap in self._taps.items():
            found[link, "up"] = tap.count() * FRAME_BYTES
        for flow in self._flows:
            found[flow.plan.last_link, "down"] += flow.sink.count() * FRAME_BYTES
        return found

    def report(self) -> list[dict[str, Any]]:
        """Return, for the records, what each flow sent and how much of it arrived."""
        return [
            {
                "from": flow.plan.sender,
                "to": flow.plan.receiver,
                "kind": flow.plan.kind,
                "rate": flow.plan.rate,
                "bytes_sent": flow.packets_sent() * FRAME_BYTES,
                "bytes_received": flow.sink.count() * FRAME_BYTES,
            }
            for flow in self._flows
        ]

    def stop(self) -> None:
        """End every flow's process."""
        for flow in self._flows:
            os.kill(flow.pid, signal.SIGKILL)
            os.waitpid(flow.pid, 0)


def _started(plan: "Plan", network: "Network") -> Iterator[_RunningFlow]:
    for number, flow in enumerate(plan.traffic):
        address = plan.node(flow.receiver).addresses[flow.network or flow.switch]
        target = address, _FIRST_PORT + number
        sink = _open_sink(network, flow.receiver, target)
        sent = mmap.mmap(-1, mmap.PAGESIZE)  # shared with the process that is forked next
        due = departures(flow, f"{plan.seed}/traffic/{number}")
        in_turn = plan.pause != "sleep"
        process_main = partial(_send, due=due, target=target, sent=sent, in_turn=in_turn)
        pid, line = network.host(flow.sender).fork_process(f"traffic{number + 1}", process_main)
        yield _RunningFlow(flow, pid, line, sink, sent)


def _open_sink(network: "Network", host: str, address: tuple[str, int]) -> CountingSink:
    """Open the receiving end of a flow in that host's namespace."""
    here = syscalls.namespace_of(network.root.socket.fileno())
    there = syscalls.namespace_of(network.host(host).netlink.fileno())
    try:
        syscalls.enter_network(there)
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    finally:
        syscalls.enter_network(here)
        os.close(here)
        os.close(there)
    return CountingSink(opened, address)


def _send(
    _name: str,
    line: socket.socket,
    due: Iterator[float],
    target: tuple[str, int],
    sent: mmap.mmap,
    in_turn: bool,
) -> None:
    """Send every packet of a flow when it is due; one that is late goes at once."""
    if in_turn:
        syscalls.run_in_order_of_waking()
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER)
    sender.setblocking(False)
    data = line.recv(8)
    if len(data) < 8:
        return  # the run ended before time zero
    zero = struct.unpack("=d", data)[0]
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    for moment in due:
        while (left := zero + moment - time.monotonic()) > 0:
            time.sleep(min(left, _LONGEST_SLEEP))
        try:
            sender.sendto(payload, target)
        except OSError:
            continue  # the link is down, or there is no room: the packet is lost
        count += 1
        _COUNT.pack_into(sent, 0, count)
