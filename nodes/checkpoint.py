"""What a node keeps through a crash, as on its own disk; only written where it may crash."""

from contracts.messages import Kind
from contracts.timeline import CrashEvent
from nodes.node_process import Inside
from protocols.base import Tensors
from protocols.wire import Message, read_file, write_file


class Storage:
    """One file for the node, in the spool: the last of what it wrote."""

    def __init__(self, inside: Inside) -> None:
        self._name, self._restarted = inside.spec.name, inside.restarted
        self._path = inside.spool.checkpoint(self._name)
        self._may_crash = any(
            isinstance(event, CrashEvent) and event.node == self._name
            for event in inside.plan.timeline
        )

    def read(self) -> Message | None:
        """What an earlier process of this node left; None for the first one."""
        if not self._restarted or not self._path.exists():
            return None
        return read_file(self._path)

    def write(self, round: int, tensors: Tensors) -> None:
        """Instead of what was there before."""
        if self._may_crash and tensors:
            write_file(self._path, Message(Kind.CHECKPOINT, self._name, round, {}, tensors))
