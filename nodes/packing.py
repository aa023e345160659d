"""Packing and unpacking on nodes: where [wire] asks for it, in the time that a device needs.

Each pass over a tensor takes as long as the node's memory takes to read it.
"""

from contracts.messages import BASE
from contracts.plan import NodeSpec, Plan
from nodes.devices import sleep_until
from nodes.recorder import now
from protocols import registry
from protocols.base import Package, Shapes, Tensors
from protocols.packing.coding import Coding
from protocols.packing.lines import ChildEnd, ServerEnd
from protocols.wire import Message


class PackedChildren:
    """A server's side, for all of its children."""

    def __init__(self, end: ServerEnd, memory: float) -> None:
        self._end, self._memory = end, memory

    @classmethod
    def of(cls, spec: NodeSpec, plan: Plan) -> "PackedChildren | None":
        """Return what the plan says of this server's children; None: messages stay as they are."""
        kinds = {plan.node(name).role for name in spec.children}
        ways = [way for kind in kinds if (way := _codings(kind, spec.role, plan)) is not None]
        if not ways:
            return None
        end = ServerEnd(*ways[0], plan.tensors, registry.method(plan.protocol).sends_changes)
        return cls(end, spec.memory_bytes_per_second)

    def update_shapes(self, shapes: Shapes) -> Shapes:
        """Return what a packed update must have."""
        return self._end.update_shapes(shapes)

    def outgoing(self, child: str, local_round: int, package: Package) -> Package:
        """Return what a child is sent; the work for several who are sent the same is done once."""
        base = self._end.base(child)
        packed, worked = self._end.pack(child, local_round, package.tensors)
        if worked:
            _take_time(self._end.down, package.tensors, self._memory)
        meta = package.meta if base is None else {**package.meta, BASE: base}
        return Package(meta, packed)

    def incoming(self, child: str, packed: Tensors) -> Tensors:
        """Return an update unpacked; its time passes with the aggregation."""
        return self._end.unpack(child, packed)

    def bytes_moved(self, update: Tensors) -> int:
        """Return how many bytes go through memory to unpack an update."""
        return self._end.up.passes * _size(update)

    def forget(self, child: str) -> None:
        """The child may have nothing of what it was sent."""
        self._end.forget(child)


class PackedServer:
    """A child's side, for one of its servers; it outlives a connection to that server."""

    def __init__(self, end: ChildEnd, memory: float) -> None:
        self._end, self._memory = end, memory

    @classmethod
    def of(cls, spec: NodeSpec, server: str, plan: Plan) -> "PackedServer | None":
        """Return what the plan says of this line; None: messages stay as they are."""
        ways = _codings(spec.role, plan.node(server).role, plan)
        if ways is None:
            return None
        end = ChildEnd(*ways, plan.tensors, registry.method(plan.protocol).sends_changes)
        return cls(end, spec.memory_bytes_per_second)

    def unpack(self, message: Message) -> None:
        """Replace a model's tensors by what they stand for."""
        base = message.meta.get(BASE)
        message.tensors = self._end.unpack(message.local_round, base, message.tensors)
        _take_time(self._end.down, message.tensors, self._memory)

    def packed(self, local_round: int, update: Tensors) -> Tensors:
        """Return the update that answers the model of this local round, packed."""
        packed = self._end.pack(local_round, update)
        _take_time(self._end.up, update, self._memory)
        return packed


def _codings(child_role: str, server_role: str, plan: Plan) -> tuple[Coding, Coding] | None:
    texts = plan.wire.get(f"{child_role}-{server_role}")
    return None if texts is None else (Coding.parse(texts["up"]), Coding.parse(texts["down"]))


def _take_time(coding: Coding, tensors: Tensors, memory: float) -> None:
    if coding.passes:
        sleep_until(now() + coding.passes * _size(tensors) / memory)


def _size(tensors: Tensors) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())
