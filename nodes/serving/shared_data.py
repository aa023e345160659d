"""Data that a server sends to each child once, for methods that share samples."""

import contextlib

import zmq

from contracts.messages import GLOBAL_ROUND, Kind
from contracts.training import EXTRA_LABELS
from nodes.serving.round_log import RoundLog
from nodes.transport import ServerEndpoint
from protocols.base import Server
from protocols.wire import Message


class SharedData:
    """Sends the method's data to every child that does not have it yet."""

    def __init__(self, method: Server, endpoint: ServerEndpoint, log: RoundLog) -> None:
        self._method, self._endpoint, self._log = method, endpoint, log
        self._sent: set[str] = set()
        self.samples = 0  # that every child has from it

    def send_to(self, children: list[str]) -> None:
        """Send the data to those without it; called ahead of the models, on the same links."""
        new = [name for name in children if name not in self._sent]
        package = self._method.data_to_share() if new else None
        if package is None:
            return
        self.samples = len(package.tensors.get(EXTRA_LABELS, ()))
        for child in new:
            meta = {**package.meta, GLOBAL_ROUND: self._log.global_round}
            message = Message(
                Kind.DATA, self._log.server, self._log.local_round, meta, package.tensors
            )
            with contextlib.suppress(zmq.ZMQError):  # unreachable: sending the model will tell
                self._endpoint.send(child, message)
                self._sent.add(child)

    def forget(self, child: str) -> None:
        """Send it again to a child that joined anew: a restarted process has nothing."""
        self._sent.discard(child)
