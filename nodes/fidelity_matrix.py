"""The fidelity matrix: model-sized messages over ZeroMQ, through links of many rates and delays.

`metronome fidelity` runs it inside the guest, instead of the launcher. One star network serves all
cells of the matrix: its links are reshaped in place, which tests reshaping as well, and every cell
has connections of its own.
"""

import json
import math
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contracts import status
from contracts.control import (
    Gather,
    Gathered,
    Listen,
    Listening,
    Ping,
    Pinged,
    Send,
)
from contracts.links import Shape
from contracts.messages import SENT_AT, Kind
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from netem import offload, probe
from netem.network import Network
from netem.shaping import SHARED_QUEUE, default_queue
from netem.transfer_time import Transfer
from nodes import joining
from nodes.control import Control
from nodes.recorder import now
from nodes.transport import ClientEndpoint, ServerEndpoint
from protocols.wire import Expected, Message, Refused

RATES = (1e6, 10e6, 100e6, 1000e6)
ROUND_TRIPS = (0.002, 0.020, 0.100, 0.300)
SENDERS = (1, 8)
SHARED_RATES = (10e6, 100e6)  # of the server's own attachment
TOGETHER = (2, 10, 50)  # senders that share it, each behind a link as fast as all of it
_SHARED_ROUND_TRIP = 0.020
RESULTS = "matrix.json"

_MSS = 1448
_LONG = 25  # a transfer that takes this many round trips is long
_LEAST_BYTES, _MOST_BYTES = 250_000, 45_000_000
_MOST_BYTES_TOGETHER = 90_000_000
_PATIENCE = 3600.0


@dataclass(frozen=True)
class MatrixCell:
    """One combination of rate, round trip and number of senders."""

    rate: float
    round_trip: float
    senders: int
    shared: bool = (
        False  # the rate is also that of the server's attachment, which all of them cross
    )
    bytes_each: int | None = None  # None: as many as make a long transfer

    @property
    def size(self) -> int:
        """Bytes that each sender sends: a long transfer, within the sizes that models have."""
        if self.bytes_each is not None:
            return self.bytes_each
        wanted = math.ceil(_LONG * self.round_trip * self.rate_each / 8)
        most = min(_MOST_BYTES, _MOST_BYTES_TOGETHER // self.senders)
        return min(most, max(_LEAST_BYTES, wanted)) // 4 * 4

    @property
    def rate_each(self) -> float:
        """The rate that each sender has to itself, if all have the same."""
        return self.rate / self.senders if self.shared else self.rate

    @property
    def shape(self) -> Shape:
        """The shape of a sender's link, the same in both directions."""
        delay = self.round_trip / 2
        return Shape(self.rate, delay, 0.0, 0.0, default_queue(self.rate, delay))

    @property
    def frames(self) -> int:
        """How many frames a packet may stand for where packets may be large."""
        large = not self.shared and offload.small_enough(self.size, self.rate)
        return offload.frames(self.shape) if large else 1

    @property
    def shared_shape(self) -> Shape:
        """The shape of the server's attachment, the same in both directions."""
        return Shape(self.rate, 0.0, 0.0, 0.0, SHARED_QUEUE)

    @property
    def is_long(self) -> bool:
        """Whether the transfer is long enough against the round trip to be judged."""
        return self.ideal_seconds >= _LONG / 2 * self.round_trip

    @property
    def ideal_seconds(self) -> float:
        """How long the transfer takes at the full rate."""
        return self._transfer.ideal_seconds

    @property
    def slow_start_seconds(self) -> float:
        """How much longer TCP's slow start makes the transfer."""
        return self._transfer.slow_start_seconds

    @property
    def _transfer(self) -> Transfer:
        return Transfer(self.size, self.rate_each, self.round_trip / 2, self.round_trip)


CELLS = tuple(
    MatrixCell(rate, trip, senders) for rate in RATES for trip in ROUND_TRIPS for senders in SENDERS
)
SHARED_CELLS = tuple(
    MatrixCell(rate, _SHARED_ROUND_TRIP, senders, shared=True)
    for rate in SHARED_RATES
    for senders in TOGETHER
)


def main(directories: list[str]) -> None:
    """Measure the cells that the run directory's cells.json lists."""
    run_dir, spool = Path(directories[0]), Spool(Path(directories[1]))
    plan = Plan.from_json(RunDirectory(run_dir).plan.read_text())
    cells = [MatrixCell(**cell) for cell in json.loads((run_dir / "cells.json").read_text())]
    network = Network(plan, _serve_orders)
    controls = {node.name: Control(network.host(node.name).control) for node in plan.nodes}
    found = []
    try:
        for port, cell in enumerate(cells, start=6000):
            found.append(_measure(network, controls, cell, port))
            status.append(spool.status, status.CellMeasured(found[-1]))
        (run_dir / RESULTS).write_text(json.dumps(found, indent=1))
    finally:
        network.stop()


def _measure(
    network: Network, controls: dict[str, Control], cell: MatrixCell, port: int
) -> dict[str, Any]:
    names = [node.name for node in network.plan.nodes if node.parent][: cell.senders]
    address = network.plan.node("cloud").addresses["wan"]
    own, attachment = [network.links[f"{name}-wan"] for name in names], network.links["cloud-wan"]
    for link in own:
        link.change(cell.shape, cell.shape)
    if cell.shared:
        attachment.change(cell.shared_shape, cell.shared_shape)
    frames = cell.frames if max(attachment.frames) > 1 else 1
    for link in (*own, attachment):
        link.set_frames(frames, frames)
    server, first = controls["cloud"], controls[names[0]]
    server.say(Listen(address))
    server.wait_for(Listening)
    first.say(Ping(address))
    ping = first.wait_for(Pinged).seconds
    server.say(Gather(port, names))
    server.wait_for(Listening)
    for name in names:
        controls[name].say(Send(address, port, cell.size))
    seconds = server.wait_for(Gathered).seconds
    return {
        **asdict(cell),
        "frames": frames,
        "size": cell.size,
        "long": cell.is_long,
        "ideal": cell.ideal_seconds,
        "slow_start": cell.slow_start_seconds,
        "seconds": max(seconds),
        "ping": ping,
        "ping_expected": probe.expected_round_trip(cell.shape, cell.shape),
    }


def _serve_orders(name: str, line: socket.socket) -> None:
    control = Control(line)
    while True:
        order = control.wait_for(Listen, Ping, Gather, Send)
        if isinstance(order, Listen):
            _listen(control, order)
        elif isinstance(order, Ping):
            _ping(control, order)
        elif isinstance(order, Gather):
            _gather(name, control, order)
        elif isinstance(order, Send):
            _send(name, order)


def _listen(control: Control, order: Listen) -> None:
    listener = probe.listen(order.address)
    control.say(Listening())
    probe.serve(listener)


def _ping(control: Control, order: Ping) -> None:
    measured = probe.measure(order.address, upload=_MSS, download=_MSS)
    control.say(Pinged(measured.round_trip))


def _fail(sender: str, refusal: Refused) -> None:
    raise RuntimeError(f"a message of {sender} was refused: {refusal}")


def _gather(name: str, control: Control, order: Gather) -> None:
    server = ServerEndpoint(name, 1 << 30, _fail, order.port)
    control.say(Listening())
    joining.admit(server, tuple(order.names), now() + _PATIENCE)
    for child in order.names:
        server.send(child, Message(Kind.GO, name, 0))
    seconds = []
    for _ in order.names:
        message = server.receive(now() + _PATIENCE, Expected(kinds=frozenset({Kind.UPDATE})))
        assert message is not None
        seconds.append(now() - message.meta[SENT_AT])
    server.close()
    control.say(Gathered(seconds))


def _send(name: str, order: Send) -> None:
    client = ClientEndpoint(name, "cloud", order.address, 1 << 30, _fail, order.port)
    joining.join(client, now() + _PATIENCE)
    client.receive(now() + _PATIENCE, Expected(kinds=frozenset({Kind.GO})))
    weights = np.zeros(order.size // 4, np.float32)
    client.send(Message(Kind.UPDATE, name, 0, {}, {"weights": weights}))
    client.close()
