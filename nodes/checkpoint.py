"""What a node keeps through a crash, as if on its own disk.

It is only written by nodes that the timeline crashes, so that other runs spend no time on it.
"""

from contracts.messages import Kind
from contracts.timeline import CrashEvent
from nodes.node_process import NodeContext
from protocols.base import Package
from protocols.wire import Message, read_file, write_file


class Checkpoint:
    """The node's checkpoint file in the spool, which holds the last thing written."""

    def __init__(self, context: NodeContext) -> None:
        self._name, self._restarted = context.spec.name, context.restarted
        self._path, self._recorder = context.spool.checkpoint(self._name), context.recorder
        self._may_crash = any(
            isinstance(event, CrashEvent) and event.node == self._name
            for event in context.plan.timeline
        )

    def read(self) -> Message | None:
        """Return what an earlier process of this node left; None in its first process."""
        if not self._restarted or not self._path.exists():
            return None
        return read_file(self._path)

    def write(self, local_round: int, state: Package) -> None:
        """Replace the checkpoint, if the node may crash at all."""
        if self._may_crash:
            self._recorder.flush()  # or the crash would take the records of a finished round along
        if self._may_crash and state.tensors:
            kept = Message(Kind.CHECKPOINT, self._name, local_round, state.meta, state.tensors)
            write_file(self._path, kept)
