"""The keys of a run: every node has a pair of its own, and knows those it may talk to."""

import hashlib
import os

import zmq
from zmq.utils import z85

from contracts.control import Keys
from contracts.plan import Plan
from contracts.spool import Spool

_BYTES = 32


def take_secret(spool: Spool) -> bytearray:
    """Take the run's secret out of the spool, where the runner has left it; else make one.

    In the guest on the virtual clock random numbers are the same in every run: a secret must come
    from outside.
    """
    try:
        secret = spool.secret.read_bytes()
        spool.secret.unlink()
    except FileNotFoundError:
        secret = os.urandom(_BYTES)
    return bytearray(secret)


class RunKeys:
    """Makes each node's keys from the run's secret, the same ones whenever they are asked for.

    Only the secret is kept, so that a process forked later can be rid of all others' keys by
    forgetting it.
    """

    def __init__(self, plan: Plan, secret: bytearray) -> None:
        self._secret = secret
        self._servers = {
            node.name: [name for name, _ in (*node.servers, *node.visits)] for node in plan.nodes
        }
        self._children: dict[str, list[str]] = {node.name: [] for node in plan.nodes}
        for child, servers in self._servers.items():
            for server in servers:
                self._children[server].append(child)
        self._public = {node.name: _public_of(self._secret_of(node.name)) for node in plan.nodes}

    def of(self, node: str) -> Keys:
        """Return what a node is told: its own keys, and the public ones of those it talks to."""
        public = self._public
        return Keys(
            public[node],
            self._secret_of(node),
            servers={name: public[name] for name in self._servers[node]},
            children={name: public[name] for name in self._children[node]},
        )

    def forget(self) -> None:
        """Overwrite the secret: from now on there are no keys here."""
        self._secret[:] = bytes(len(self._secret))

    def _secret_of(self, node: str) -> str:
        digest = hashlib.blake2b(node.encode(), key=self._secret, digest_size=_BYTES).digest()
        return z85.encode(digest).decode()


def _public_of(secret: str) -> str:
    return zmq.curve_public(secret.encode()).decode()
