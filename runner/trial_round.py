"""One round of a plug-in's method among two clients, without network or training.

Mistakes in a new method are found here, in one sentence, instead of minutes into a run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from contracts.errors import BadInput
from contracts.messages import GLOBAL_ROUND, SENT_AT, Kind
from contracts.plugins import Plugin
from contracts.training import Result
from protocols import base, registry
from protocols.base import Facts, Package, Tensors, Work
from protocols.method import Method
from protocols.registry import PROTOCOLS
from protocols.streaming import STALENESS
from protocols.wire import Expected, Message, Refused, decode, encode

_SAMPLES = (10, 20)  # of the clients
Returned = TypeVar("Returned")


def try_out(method: Method, settings: Any, model: Tensors, below_cloud: bool) -> None:
    """Hold the round; BadInput with file and line if something in it fails or cannot be sent.

    `below_cloud` says whether there are edges, which pass everything on. Only methods of plug-ins
    are tried: those of the project have tests of their own.
    """
    plugin = PROTOCOLS.plugin(method.name)
    if plugin is not None and not method.trains_alone:
        _Trial(plugin, method, settings, model, below_cloud).round()


@dataclass
class _Trial:
    plugin: Plugin
    method: Method
    settings: Any
    model: Tensors
    below_cloud: bool

    def round(self) -> None:
        top = self._call(self.method.Server, self.settings, dict(self.model))
        everybody = Facts(clients=2, sampled=2, samples=sum(_SAMPLES))
        top.facts = replace(everybody, institutions=int(self.below_cloud))
        if self.method.sends_server_data or self.method.needs_server_data:
            return  # it needs samples that only a real run has
        if not self.below_cloud:
            self._hold(top)
            return
        edge = self._call(self.method.Edge, self.settings, {})
        edge.facts = everybody
        self._call(edge.receive, self._sent(self._call(top.outgoing, "inst1"), Kind.MODEL))
        if self._hold(edge):
            shapes = self._call(top.update_shapes, self._shapes)
            up = self._sent(self._call(edge.upward), Kind.UPDATE, shapes)
            self._call(top.add, "inst1", up)
            self._finish(top)

    def _hold(self, server: base.Server) -> bool:
        """Let a server hold a round among two clients; False if that cannot be imitated."""
        shapes = self._call(server.update_shapes, self._shapes)
        for number, samples in enumerate(_SAMPLES, 1):
            name, client = f"client{number}", self._call(self.method.Client, self.settings)
            down = self._sent(self._call(server.outgoing, name), Kind.MODEL)
            jobs = self._call(client.jobs, {"server": down})
            if not jobs or any(job.work.epochs < 1 and job.work.steps < 1 for job in jobs):
                raise self._refusal("a client trains nothing in a round; ask for epochs or steps")
            if any(job.work.rule for job in jobs):
                for job in jobs:
                    self._check_rule(job.work)
                return False  # a rule may send back what only training gives
            trained = {k: tensor * np.float32(0.5) for k, tensor in jobs[0].model.items()}
            result = Result(trained, samples, steps=1, loss=1.0 / number, host_seconds=0.0)
            up = self._sent(self._call(client.reply, down, result), Kind.UPDATE, shapes)
            self._call(server.add, name, up)
        self._finish(server)
        return True

    def _check_rule(self, work: Work) -> None:
        if work.rule and work.rule not in PROTOCOLS:
            raise self._refusal(f'no method is called "{work.rule}", which its work names as rule')
        if work.rule:
            self._call(registry.method(work.rule).make_local_rule, work.settings)

    def _finish(self, server: base.Server) -> None:
        if not isinstance(self._call(server.finish), dict):
            raise self._refusal("finish() must return the decisions to record, {} for none")
        if {name: (str(t.dtype), t.shape) for name, t in server.model.items()} != self._shapes:
            raise self._refusal(
                "after a round the server's model has other tensors, shapes or types than before"
            )

    @property
    def _shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        return {name: (str(t.dtype), t.shape) for name, t in self.model.items()}

    def _sent(self, package: Package, kind: Kind, shapes: Any = None) -> Package:
        """Return a package as it arrives at the other end."""
        meta = {**package.meta, GLOBAL_ROUND: 1, SENT_AT: 0.0}
        meta |= {STALENESS: 0} if self.method.streams and kind == Kind.UPDATE else {}
        message = Message(kind, "trial", 1, meta, package.tensors)
        try:
            arrived = decode(encode(message), Expected(frozenset({kind}), 1, shapes))
        except (Refused, TypeError, ValueError) as error:
            raise self._refusal(f"its {kind} cannot be sent ({error}); correct it") from error
        return Package(arrived.meta, arrived.tensors)

    def _call(self, step: Callable[..., Returned], *given: Any) -> Returned:
        try:
            return step(*given)
        except Exception as error:
            place = self.plugin.blame(error, "PROTOCOLS", self.method.name)
            raise BadInput(
                f'{place}: protocol "{self.method.name}" fails in its first round'
                f" ({type(error).__name__}: {error}); correct it"
            ) from error

    def _refusal(self, why: str) -> BadInput:
        place = self.plugin.place("PROTOCOLS", self.method.name)
        return BadInput(f'{place}: protocol "{self.method.name}": {why}')
